import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { LockConsoleModule } from 'nestjs-redis-lock/console';
import { DataSource } from 'typeorm';
import { startRedis } from '../../test/support/redis-process.mjs';
import type { DemoOptions, WebOptions } from '../demo/options.js';
import { databaseOptions } from '../src/database.js';
import { Acts } from './acts.js';
import { actsOfPage } from './acts-of-page.js';
import { PageServer } from './page-server.js';
import { Show } from './show.js';
import { shownToken, viewOf } from './view.js';

@Module({})
class DirectorModule {}

const atEnd = (end: () => unknown): AsyncDisposable => ({ [Symbol.asyncDispose]: async () => void (await end()) });

/** Serves the sale until the signal aborts, with a Redis of its own: the page kills it. */
export async function serveSale(options: DemoOptions & WebOptions, signal: AbortSignal): Promise<void> {
  const since = Date.now();
  const directory = mkdtempSync(join(tmpdir(), 'ticket-sale-'));
  await using _directory = atEnd(() => rmSync(directory, { recursive: true, force: true }));
  await using redis = await startRedis();
  const databaseUrl = process.env['DATABASE_URL'] || undefined;
  const databaseFile = join(directory, 'sale.sqlite');
  const database = await new DataSource(databaseOptions({ databaseUrl, databaseFile })).initialize();
  await using _database = atEnd(() => database.destroy());

  // A process of the fleet with no locks: it asks who holds the lock of the sale, and shows the console.
  const imports = [RedisLockModule.forRoot({ redis: redis.url }), LockConsoleModule.forRoot({ guards: 'none' })];
  const app = await NestFactory.create(
    { module: DirectorModule, imports },
    { logger: ['error'], forceCloseConnections: true },
  );
  await using _app = atEnd(() => app.close());

  await using show = await Show.create({
    ...options,
    redis,
    database,
    locks: app.get(RedisLockService),
    env: { ...process.env, DATABASE_URL: databaseUrl, DATABASE_FILE: databaseFile },
    onChange: () => pages.changed(),
  });
  const acts = new Acts(show, (token) => shownToken(token, since));
  await using _acts = atEnd(() => acts.close());
  const pages = new PageServer({
    page: 'sample/web/page/',
    files: ['lib/console/page/app.css', 'lib/console/page/dom.js'],
    acts: actsOfPage(show, acts),
    state: () => viewOf(show, acts, since),
  });
  await using _pages = atEnd(() => pages.close());
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    void (async () => {
      try {
        if (!(await pages.handle(request, response))) next();
      } catch {
        response.destroy();
      }
    })();
  });
  await app.listen(options.port, '127.0.0.1');
  console.log(`The sale is at ${await app.getUrl()}/`);
  await Promise.all(Array.from({ length: options.processes }, () => show.addProcess())).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
