import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { type Driver, type Lockable, inside } from './driver.js';

/** As in production, on a server whose settings are the benchmark's own. */
const production: RedisLockModuleOptions = { strict: true, ignoreFindings: 'all', checkNesting: false };

/** As an application has it: the module, and the service that Nest injects. */
export async function openModule(options: RedisLockModuleOptions): Promise<Lockable> {
  const app = await NestFactory.createApplicationContext(RedisLockModule.forRoot({ ...production, ...options }), {
    logger: ['error', 'warn'],
    abortOnError: false,
  });
  const locks = app.get(RedisLockService);
  return {
    async run(key, work) {
      const lock = await locks.acquire(key);
      try {
        await inside(work);
      } finally {
        await lock.release();
      }
    },
    async hold(key) {
      const lock = await locks.acquire(key);
      return () => lock.release();
    },
    close: () => app.close(),
  };
}

export const ours: Driver = {
  name: 'nestjs-redis-lock',
  home: import.meta.url,
  kind: 'ours',
  settings: 'defaults (renewed); acquire + release of RedisLockService',
  renews: true,
  open: (url, { lease }) => openModule({ redis: url, lease }),
};

export const oursSent: Driver = {
  name: 'nestjs-redis-lock, sent',
  home: import.meta.url,
  kind: 'ours',
  settings: "release: 'sent'",
  uncontendedOnly: true,
  open: (url, { lease }) => openModule({ redis: url, lease, release: 'sent' }),
};

export const oursWorker: Driver = {
  name: 'nestjs-redis-lock, worker',
  home: import.meta.url,
  kind: 'ours',
  settings: "renewFrom: 'worker'",
  uncontendedOnly: true,
  renews: true,
  open: (url, { lease }) => openModule({ redis: url, lease, renewFrom: 'worker' }),
};

export const oursStrict: Driver = {
  name: 'nestjs-redis-lock, strict',
  home: import.meta.url,
  kind: 'ours',
  settings: "fairness: 'strict'",
  contendedOnly: true,
  open: (url, { lease }) => openModule({ redis: url, lease, fairness: 'strict' }),
};
