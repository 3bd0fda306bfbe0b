// One application with the ES modules and the CommonJS build of the package: each knows the errors of the other.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Controller, Get, Inject, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';

// `require('nestjs-redis-lock')` would give the ES modules (module-sync): the file itself is another copy.
const esm = await import('nestjs-redis-lock');
const cjs = createRequire(import.meta.url)(
  new URL('../cjs/index.js', import.meta.resolve('nestjs-redis-lock')).pathname,
);
if (cjs.LockError === esm.LockError) throw new Error('one copy, not two');

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

await check(esm, cjs);
await check(cjs, esm);
console.log('two copies, one kind of errors');
