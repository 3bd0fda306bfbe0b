import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { ProgramRun } from '../../support/program-run.js';

/** As pnpm lays out a workspace whose packages have two versions of ioredis: each has a copy of this package, and both one Nest. */
const root = join(import.meta.dirname, '..', '..', '..');
let workspace: string;

beforeAll(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), 'lock-copies-')));
  for (const [name, ioredis] of Object.entries({ app: 'ioredis', shared: 'ioredis5' })) {
    const modules = join(workspace, name, 'node_modules');
    mkdirSync(join(modules, 'nestjs-redis-lock', 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(modules, 'nestjs-redis-lock', 'package.json'));
    for (const format of ['esm', 'cjs'])
      cpSync(join(root, 'dist', format), join(modules, 'nestjs-redis-lock', 'dist', format), { recursive: true });
    for (const peer of ['@nestjs', 'rxjs', 'reflect-metadata', 'ms', 'acorn'])
      symlinkSync(join(root, 'node_modules', peer), join(modules, peer));
    symlinkSync(join(root, 'node_modules', ioredis), join(modules, 'ioredis'));
  }
  writeFileSync(join(workspace, 'shared', 'jobs.mjs'), shared);
  writeFileSync(join(workspace, 'app', 'main.mjs'), app);
});
afterAll(() => rmSync(workspace, { recursive: true, force: true }));

const shared = `
import { Inject, Injectable } from '@nestjs/common';
import { DistributedLock, RedisLockService } from 'nestjs-redis-lock';
export class Unlocked {}
export class Jobs { async run(id) { return id; } }
DistributedLock('job:#{id}')(Jobs.prototype, 'run', Object.getOwnPropertyDescriptor(Jobs.prototype, 'run'));
export class Named { async run(id) { return id; } }
DistributedLock({ key: 'job:#{id}', connection: 'other' })(Named.prototype, 'run', Object.getOwnPropertyDescriptor(Named.prototype, 'run'));
export class Caller {}
Inject(RedisLockService)(Caller, undefined, 0);
Injectable()(Caller);
`;
const app = `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RedisLockModule } from 'nestjs-redis-lock';
import * as shared from '../shared/jobs.mjs';
class AppModule {}
const locks = (name) => RedisLockModule.forRoot({ name, redis: process.env.REDIS_URL });
Module({ imports: [locks(), locks('other')], providers: [shared[process.argv[2]]] })(AppModule);
try {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  console.log('started');
  await app.close();
} catch (error) {
  console.log(error.code + ' ' + error.message);
  process.exit();
}
`;

describe('an application with a shared package that has a copy of its own', () => {
  it.each(['Jobs', 'Caller', 'Named'])(
    'does not start with a class that locks by the other copy, and says where both are: %s',
    async (name) => {
      await using run = await ProgramRun.start([join(workspace, 'app', 'main.mjs'), name], {
        REDIS_URL: sharedRedisUrl(),
      });
      await run.says(/\n/);
      const copy = (of: string): string => join(workspace, of, 'node_modules', 'nestjs-redis-lock');
      expect(run.stdout).toBe(
        `LOCK_CONFIGURATION Two copies of nestjs-redis-lock are loaded. RedisLockModule is of ${copy('app')}, and a class with locks is of ${copy('shared')}. ` +
          'Make nestjs-redis-lock a peer dependency of the shared package, and use one version of ioredis and of Nest: pnpm makes a copy for each combination.\n',
      );
    },
  );

  it('starts when nothing locks by the other copy', async () => {
    await using run = await ProgramRun.start([join(workspace, 'app', 'main.mjs'), 'Unlocked'], {
      REDIS_URL: sharedRedisUrl(),
    });
    await run.says(/\n/);
    expect(run.stdout).toBe('started\n');
  });
});
