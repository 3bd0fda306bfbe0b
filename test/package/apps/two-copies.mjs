// One application with the package installed twice, as a workspace may have it: each copy knows the errors of the other.
import 'reflect-metadata';
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Controller, Get, Inject, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';

const home = new URL('../node_modules/nestjs-redis-lock/', import.meta.url);
const elsewhere = new URL('../elsewhere/node_modules/nestjs-redis-lock/', import.meta.url);
cpSync(home, elsewhere, { recursive: true });
const one = await import('nestjs-redis-lock');
// The CommonJS build of the other one.
const other = createRequire(import.meta.url)(new URL('dist/cjs/index.js', elsewhere).pathname);
if (other.LockError === one.LockError) throw new Error('one copy, not two');

const redis = process.env.REDIS_URL;
const name = 'guests';
const statuses = {
  LockConfigurationError: 500,
  LockNotAcquiredError: 409,
  LockWaitTimeoutError: 409,
  LockQueueFullError: 503,
  LockUnavailableError: 503,
};

/** An application of the host's copy, with a connection of the guest's, whose own filter is off. */
async function check(host, guest) {
  class Errors {
    constructor(locks) {
      this.locks = locks;
    }
    raise(type) {
      throw new guest[type]('raised');
    }
    async contend() {
      const key = `two-copies:${process.pid}`;
      const held = await this.locks.acquire(key);
      try {
        await Promise.resolve().then(() => this.locks.acquire(key, { wait: 0 }));
      } catch (error) {
        if (!(error instanceof host.LockNotAcquiredError)) throw new Error('not of the host', { cause: error });
        if (error instanceof host.LockQueueFullError) throw new Error('of a class that it is not', { cause: error });
        throw error;
      } finally {
        await held.release();
      }
    }
  }
  Controller('errors')(Errors);
  Inject(guest.getRedisLockToken(name))(Errors, undefined, 0);
  for (const [method, path] of Object.entries({ contend: 'contend', raise: 'raise/:type' })) {
    const descriptor = Object.getOwnPropertyDescriptor(Errors.prototype, method);
    Get(path)(Errors.prototype, method, descriptor);
  }
  Param('type')(Errors.prototype, 'raise', 0);

  class App {}
  Module({
    imports: [
      host.RedisLockModule.forRoot({ redis }),
      guest.RedisLockModule.forRoot({ name, redis, httpErrors: false }),
    ],
    controllers: [Errors],
  })(App);
  const app = await NestFactory.create(App, new ExpressAdapter(), { logger: false });
  try {
    await app.listen(0, '127.0.0.1');
    const paths = Object.entries(statuses).map(([type, status]) => [`raise/${type}`, status]);
    for (const [path, status] of [...paths, ['contend', 409]]) {
      const answer = await fetch(`${await app.getUrl()}/errors/${path}`);
      if (answer.status !== status) throw new Error(`${path}: ${answer.status} instead of ${status}`);
      if ((status !== 500) !== (answer.headers.get('retry-after') === '1')) throw new Error(`${path}: Retry-After`);
    }
  } finally {
    await app.close();
  }
}

await check(one, other);
await check(other, one);
console.log('two copies, one kind of errors');
