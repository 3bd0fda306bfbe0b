import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { readTicket, resolveAdoption, resolveOptions } from 'nestjs-redis-lock/backend';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { assertSound, meetAtEach, type Operation } from './support/each-command.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker } from './support/locker.js';

const lease = { lease: 2_000, renew: false, wait: 300 };
/** Before the fault: on a busy machine the link comes up late. */
const early = { ...lease, wait: 20_000 };

const operations: ReadonlyArray<[title: string, operation: Operation]> = [
  [
    'start',
    async ({ connection }) =>
      () =>
        connection.open(),
  ],
  [
    'a first use before the start',
    async ({ connection, locker, name }) => {
      return async () => {
        assertSound(await connection.acquire(name, resolveOptions(lease, locker.client.defaults)));
      };
    },
  ],
  [
    'acquire',
    async ({ open, locker, name }) => {
      await open();
      return async () => assertSound(await locker.acquire(name, lease));
    },
  ],
  [
    'acquire of a reader',
    async ({ open, locker, name }) => {
      await open();
      return async () => assertSound(await locker.acquire(name, { ...lease, shared: true }));
    },
  ],
  [
    'a wait for nothing',
    async ({ open, locker, other, name }) => {
      await open();
      await other.acquire(name, early);
      return async () => assertSound(await locker.acquire(name, lease));
    },
  ],
  [
    'a wait for a hand-off',
    async ({ open, locker, other, name }) => {
      await open();
      const held = await other.acquire(name, early);
      return async () => {
        const lock = locker.acquire(name, { ...lease, wait: 1_000 });
        await pause(100);
        await held.release();
        assertSound(await lock);
      };
    },
  ],
  [
    'renew',
    async ({ open, locker, name }) => {
      await open();
      const lock = await locker.acquire(name, early);
      return async () => {
        await lock.renew().finally(() => assertSound(lock));
      };
    },
  ],
  [
    'release',
    async ({ open, locker, name }) => {
      await open();
      const lock = await locker.acquire(name, early);
      return () => lock.release();
    },
  ],
  [
    'export and adopt',
    async ({ open, locker, name }) => {
      await open();
      const lock = await locker.acquire(name, early);
      return async () => {
        const ticket = await lock.export();
        const { client } = locker;
        assertSound(await client.adopt(readTicket(ticket), resolveAdoption({ wait: 300 }, client.defaults)));
      };
    },
  ],
  [
    'inspect',
    async ({ open, locker, name }) => {
      await open();
      return () => locker.operators.views.inspect(name);
    },
  ],
  [
    'forceRelease',
    async ({ open, locker, other, name }) => {
      await open();
      await other.acquire(name, early);
      return () => locker.operators.views.forceRelease(name);
    },
  ],
  [
    'list',
    async ({ open, locker }) => {
      await open();
      return async () => {
        for await (const name of locker.operators.views.list()) expect(name).toEqual(expect.any(String));
      };
    },
  ],
  [
    'close with a lock in hand',
    async ({ connection, open, locker, name }) => {
      await open();
      await locker.acquire(name, early);
      return () => connection.beforeApplicationShutdown();
    },
  ],
];

describe('a link that breaks right behind a command', () => {
  let redis: RedisServer;
  let other: Locker;

  beforeAll(async () => {
    redis = await startRedis();
    other = await Locker.to(redis.url);
  });
  afterAll(async () => {
    await other.client.shutdown(0);
    await redis.stop();
  });
  expectNoLeftovers();

  // Fault 3: I3 (thirteen operations, each at every command that it sends), I5
  it.each(operations)(
    'of %s, any one of them, leaves no call and no shutdown pending',
    async (_, operation) => {
      const problems = [false, true].map((unknown) => meetAtEach(redis, other, operation, unknown));
      expect((await Promise.all(problems)).flat()).toEqual([]);
    },
    120_000,
  );
});
