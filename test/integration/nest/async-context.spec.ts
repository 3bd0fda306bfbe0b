import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  currentLock,
  DistributedLock,
  type Lock,
  RedisLockModule,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';
import { LockTestBed, MemoryLockBackend, MemoryLockServer, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { lastValueFrom, Observable, toArray } from 'rxjs';
import { KeptLog } from '../../../conformance/kept-log.js';
import { Requests } from '../../support/requests.js';
import { forkWorker } from '../../support/worker.js';
import { closing, onSharedRedis } from './fixtures.js';

let requests: Requests;
let readers = 0;
const where = (): string | undefined => requests.current;

/** Everything in it says in which request it runs. */
@Injectable()
class Shop {
  constructor(readonly locks: RedisLockService) {}

  @DistributedLock({ key: (_seen: unknown[], id: string) => `promise:${id}` })
  async promise(seen: unknown[], _id: string) {
    seen.push(where());
    await sleep(5);
    seen.push(where());
  }

  @DistributedLock({ key: (seen: unknown[], id: string) => `observable:${seen.push(where()) && id}` })
  observable(seen: unknown[], _id: string): Observable<string | undefined> {
    return new Observable((subscriber) => {
      seen.push(where());
      const timer = setTimeout(() => {
        subscriber.next(where());
        subscriber.complete();
      }, 5);
      return () => clearTimeout(timer);
    });
  }

  @DistributedLock({ key: (_seen: unknown[], id: string) => `iterable:${id}` })
  async *iterable(seen: unknown[], _id: string) {
    for (let step = 0; step < 3; step++) {
      await sleep(2);
      seen.push(where());
      yield where();
    }
  }

  @DistributedLock({
    key: (_seen: unknown[], id: string) => `skipped:${id}`,
    wait: 0,
    onContended: (_error, seen: unknown[]) => void seen.push(where()),
  })
  async skipped(seen: unknown[], _id: string) {
    seen.push(where());
    await sleep(20);
  }
}

const ways: Array<[string, (shop: Shop, seen: unknown[]) => Promise<unknown>]> = [
  ['a decorated method', (shop, seen) => shop.promise(seen, '1')],
  [
    'an Observable',
    async (shop, seen) => seen.push(...(await lastValueFrom(shop.observable(seen, '1').pipe(toArray())))),
  ],
  [
    'an async iterable',
    async (shop, seen) => {
      for await (const step of shop.iterable(seen, '1')) seen.push(step, where());
    },
  ],
  ['onContended', (shop, seen) => shop.skipped(seen, '1')],
  [
    'using',
    (shop, seen) =>
      shop.locks.using('using', async () => {
        seen.push(where());
        await sleep(5);
        seen.push(where());
      }),
  ],
  [
    'using, for several names',
    (shop, seen) =>
      shop.locks.using(['several:b', 'several:a'], async () => {
        seen.push(where());
        await sleep(5);
        seen.push(where());
      }),
  ],
  [
    'acquire',
    async (shop, seen) => {
      const lock = await shop.locks.acquire('acquire');
      seen.push(where());
      await sleep(5);
      await lock.release();
    },
  ],
  [
    'a shared lock behind an exclusive one',
    async (shop, seen) => {
      await using _lock = await shop.locks.acquire('shared', { shared: readers++ % 2 === 0 });
      seen.push(where());
      await sleep(5);
    },
  ],
  [
    'adopt',
    async (shop, seen) => {
      const ticket = await (await shop.locks.acquire('adopt')).export();
      seen.push(where());
      await shop.locks.adopt(ticket, async () => {
        seen.push(where());
        await sleep(5);
        seen.push(where());
      });
    },
  ],
  [
    'a wait that ends in time',
    async (shop, seen) => {
      await using _lock = await shop.locks.acquire('timeout');
      await sleep(30);
      await shop.locks.acquire('held', { wait: 20 }).catch(() => seen.push(where()));
    },
  ],
];

const places: Array<[string, () => RedisLockModuleOptions]> = [
  ['Redis', onSharedRedis],
  ['memory', () => ({ backend: new MemoryLockBackend({ server: new MemoryLockServer() }) })],
];

describe.each(places)('code in an async context, with locks in %s', (_place, options) => {
  const start = async () => {
    const module = Test.createTestingModule({ imports: [RedisLockModule.forRoot(options())], providers: [Shop] });
    return closing(await (await module.setLogger(new KeptLog()).compile()).init());
  };

  it.each(ways)(
    'has the context of the caller in and after %s, also when another request passes the lock on',
    async (_what, call) => {
      await using app = await start();
      using watched = (requests = new Requests());
      const shop = app.get(Shop);
      const held = await shop.locks.acquire('held', { lease: '1m' });
      const names = Array.from({ length: 12 }, (_, index) => `request ${index}`);
      const seen = new Map<string, unknown[]>();
      await Promise.all(
        names.map((name) =>
          watched.run(name, async () => {
            const mine: unknown[] = [];
            seen.set(name, mine);
            await call(shop, mine);
            mine.push(where());
          }),
        ),
      );
      await held.release();
      for (const name of names) expect(new Set(seen.get(name))).toEqual(new Set([name]));
      expect([...watched.late]).toEqual([]);
      expect(watched.traced.filter((command) => command.includes(' in '))).toEqual([]);
    },
  );

  it('has no request if the application starts inside one', async () => {
    const module = Test.createTestingModule({ imports: [RedisLockModule.forRoot(options())], providers: [Shop] });
    await using app = closing(await module.setLogger(new KeptLog()).compile());
    using watched = (requests = new Requests());
    await watched.run('first', () => app.init());
    const lock = await app.get(Shop).locks.acquire('first', { lease: '300ms', renew: true });
    await sleep(200);
    await lock.release();
    expect([...watched.late]).toEqual([]);
    expect(watched.traced.filter((command) => command.includes(' in '))).toEqual([]);
  });

  it('has no request for the connection, if a request is the first to need it', async () => {
    const locks = RedisLockModule.forRoot({ ...options(), shutdownTimeout: 0 });
    const module = Test.createTestingModule({ imports: [locks], providers: [Shop] });
    // Compiled, and never initialised.
    await using app = closing(await module.setLogger(new KeptLog()).compile());
    using watched = (requests = new Requests());
    const lock = await watched.run('first', () =>
      app.get(Shop).locks.acquire('first', { lease: '300ms', renew: true }),
    );
    await sleep(400);
    expect(lock.isHeld).toBe(true);
    const told: unknown[] = [];
    lock.signal.addEventListener('abort', () => told.push(where() ?? 'no request'));
    await watched.run('last', () => app.close());
    expect(told).toEqual(['no request']);
    expect([...watched.late]).toEqual([]);
    expect(watched.traced.filter((command) => command.includes(' in '))).toEqual([]);
  });
});

describe('code in an async context, in virtual time', () => {
  it('has no request in timers, and the context of the caller in the code that follows', async () => {
    const module = Test.createTestingModule({ imports: [RedisLockTestingModule.forRoot()], providers: [Shop] });
    await using app = closing(await (await module.setLogger(new KeptLog()).compile()).init());
    using watched = (requests = new Requests());
    const [locks, bed] = [app.get(RedisLockService), app.get(LockTestBed)];
    const held: Lock = await locks.acquire('a', { lease: '5s' });
    const told: unknown[] = [];
    held.signal.addEventListener('abort', () => told.push(where() ?? 'no request'));
    const other = await bed.otherProcess().acquire('b');
    const waiting = watched.run('waiting', async () => {
      await locks.using('b', () => told.push(where(), currentLock()?.key));
    });
    await watched.run('passing', async () => {
      await bed.advance('6s');
      await other.release();
      await bed.advance('1s');
    });
    await waiting;
    expect(told).toEqual(['no request', 'waiting', 'b']);
    await bed.advance('20s');
    expect([...watched.late]).toEqual([]);
  });
});

describe('an HTTP application with nestjs-cls', () => {
  it('finds the values of each request inside its locks, and none in the commands to Redis', async () => {
    const { redis, keyPrefix } = onSharedRedis();
    await using worker = forkWorker('cls', { env: { CLS: JSON.stringify({ redis, keyPrefix }) } });
    const { answers, traced } = await worker.message<{
      answers: Array<{ id: string; seen: string[] }>;
      traced: string[];
    }>();
    expect(answers).toHaveLength(30);
    for (const { id, seen } of answers) expect(seen).toEqual(Array.from({ length: 8 }, () => id));
    expect(traced).toEqual(['no request']);
  });
});

describe('the store of a request', () => {
  it('can be collected while its lock is renewed, on the connection that it has opened', async () => {
    await using worker = forkWorker('collected-stores', { args: [randomUUID()], execArgv: ['--expose-gc'] });
    await expect(worker.message()).resolves.toEqual({ alive: [], held: [true, true] });
  });
});
