import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Accounts as OfRedisSemaphore, Gateway } from '../../../examples/migration/redis-semaphore.js';
import { Accounts as OfRedlock5, type Redlock } from '../../../examples/migration/redlock.js';
import { Accounts as OfRedlock4, type Redlock4 } from '../../../examples/migration/redlock4.js';
import { Accounts as BySetNx } from '../../../examples/migration/set-nx.js';
import { deferred, onSharedRedis } from '../nest/fixtures.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { forkWorker, type Worker } from '../../support/worker.js';

// Their `exports` lead TypeScript to no types.
const require = createRequire(import.meta.url);
interface Redlock5 extends Redlock {
  readonly settings: object;
  acquire(keys: string[], duration: number): Promise<{ release(): Promise<unknown> }>;
}
const { default: RedlockOf5 } = require('redlock') as {
  default: new (clients: Redis[], settings?: object) => Redlock5;
};
const { Redlock: RedlockOfSesamecare } = require('@sesamecare-oss/redlock') as {
  Redlock: new (clients: Redis[]) => Redlock;
};
const RedlockOf4 = require('redlock4') as new (clients: Redis[]) => Redlock4;

const redlocks: Record<string, new (clients: Redis[]) => Redlock | Redlock4> = {
  'redlock 4': RedlockOf4,
  '@sesamecare-oss/redlock': RedlockOfSesamecare,
};

type Version = 'before' | 'both' | 'after';
type Migrated = Record<Version, (id: string, work: () => Promise<void>) => Promise<void>>;

/** The client of the old library. It says when a command was answered. */
class AnsweringRedis extends Redis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>) {
    const answer = super.sendCommand(...args);
    void Promise.resolve(answer)
      .finally(() => this.emit('answer'))
      .catch(() => undefined);
    return answer;
  }
}

interface Library {
  /** Undefined: it runs in test/support/workers/nest-redlock.ts. */
  readonly example?: Type<Migrated>;
  readonly name: (id: string) => string;
  /** How many calls work at once. */
  readonly capacity?: 2;
  readonly options?: { readonly limit: number };
}

const account = (id: string): string => lockName`account:${id}`;
const libraries: Record<string, Library> = {
  'redlock 5': { example: OfRedlock5, name: account },
  '@sesamecare-oss/redlock': { example: OfRedlock5, name: account },
  'redlock 4': { example: OfRedlock4, name: account },
  'redis-semaphore': { example: OfRedisSemaphore, name: account },
  'a Semaphore of redis-semaphore': {
    example: Gateway,
    name: (id) => lockName`gateway:${id}`,
    capacity: 2,
    options: { limit: 2 },
  },
  '@anchan828/nest-redlock': { name: account },
  'SET NX by hand': { example: BySetNx, name: account },
};

/** The examples of a process of its own, as if they ran here. */
function inWorker(worker: Worker, answers: EventEmitter): Migrated {
  let runs = 0;
  const settled = new EventEmitter();
  worker.process.on('message', (message: { begun?: number; done?: number; error?: string; answered?: boolean }) => {
    if (message.answered) answers.emit('answer');
    if (message.begun !== undefined) settled.emit(`begun ${message.begun}`);
    if (message.done !== undefined) settled.emit(`done ${message.done}`, message.error);
  });
  const run =
    (version: Version) =>
    async (id: string, work: () => Promise<void>): Promise<void> => {
      const number = ++runs;
      const done = once(settled, `done ${number}`);
      const begun = once(settled, `begun ${number}`).then(async () => {
        await work();
        worker.send({ leave: number });
      });
      worker.send({ run: number, version, id });
      const [error] = (await done) as [string | undefined];
      await begun;
      if (error !== undefined) throw new Error(error);
    };
  return { before: run('before'), both: run('both'), after: run('after') };
}

describe.each(Object.entries(libraries))('the migration from %s', (title, { example, name, capacity, options }) => {
  const locks = onSharedRedis();
  let redis: AnsweringRedis;
  let worker: Worker | undefined;
  let app: TestingModule;
  let migrated: Migrated;

  beforeAll(async () => {
    redis = new AnsweringRedis(sharedRedisUrl());
    app = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot(locks)],
      providers: [
        ...(example ? [example] : []),
        { provide: 'redis', useValue: redis },
        {
          provide: 'redlock',
          useFactory: () => new (redlocks[title] ?? RedlockOf5)([redis]),
        },
      ],
    }).compile();
    await app.init();
    if (example) migrated = app.get(example);
    else {
      worker = forkWorker('nest-redlock', { env: { LOCKS: JSON.stringify(locks) } });
      await worker.message();
      migrated = inWorker(worker, redis);
    }
  });

  afterAll(async () => {
    await worker?.kill();
    await app.close();
    redis.disconnect();
  });

  /** A call that is refused tries again; one that is not begins to work, and sends nothing. */
  const twoAnswers = async (): Promise<void> => {
    await once(redis, 'answer');
    await once(redis, 'answer');
  };

  /** Whether one more call gets its lock while others work. */
  const meet = async (first: Version, second: Version): Promise<boolean> => {
    const id = randomUUID();
    const leave = deferred();
    const works: Promise<void>[] = [];
    for (const version of capacity === 2 ? [first, 'both' as const] : [first]) {
      const begun = deferred();
      const work = migrated[version](id, async () => {
        begun.resolve();
        await leave.promise;
      });
      works.push(work);
      await begun.promise;
    }
    if (second === 'after') {
      // It would wait for 3 s: one try shows the same.
      const lock = await app.get(RedisLockService).tryAcquire(name(id), { ...options });
      await lock?.release();
      leave.resolve();
      await Promise.all(works);
      return lock !== null;
    }
    const begun = deferred();
    const refusedTwice = twoAnswers();
    works.push(migrated[second](id, async () => begun.resolve()));
    const met = await Promise.race([begun.promise.then(() => true), refusedTwice.then(() => false)]);
    leave.resolve();
    await Promise.all(works);
    return met;
  };

  it.each<[Version, Version]>([
    ['before', 'both'],
    ['both', 'before'],
    ['both', 'after'],
    // The decorator takes the new lock first, so the second call does not ask the old library.
    ...(example ? [['both', 'both'] satisfies [Version, Version]] : []),
  ])('no holder too many in a rolling deploy: %s, then %s', async (first, second) => {
    expect(await meet(first, second)).toBe(false);
  });

  it('one holder too many if both deploys are done in one step: the two do not see each other', async () => {
    expect(await meet('before', 'after')).toBe(true);
    expect(await meet('after', 'before')).toBe(true);
  });
});

describe('what the pages say about redlock', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(sharedRedisUrl());
  });
  afterAll(() => redis.disconnect());

  it('5: the defaults are 10 tries, 200 ± 100 ms apart, so about 2 s and at most 3 s', () => {
    expect(new RedlockOf5([redis]).settings).toMatchObject({ retryCount: 10, retryDelay: 200, retryJitter: 100 });
  });

  it('5: contention and a release after the lease are one error', async () => {
    const redlock = new RedlockOf5([redis], { retryCount: 0 });
    const key = randomUUID();
    const lock = await redlock.acquire([key], 5000);
    await expect(redlock.acquire([key], 5000)).rejects.toMatchObject({ name: 'ExecutionError' });
    await redis.del(key); // as at the end of the lease
    await expect(lock.release()).rejects.toMatchObject({ name: 'ExecutionError' });
  });

  it('4: a release after the lease rejects', async () => {
    const key = randomUUID();
    const lock = await new RedlockOf4([redis]).lock(key, 5000);
    await redis.del(key);
    await expect(lock.unlock()).rejects.toMatchObject({ name: 'LockError' });
  });
});

it("a redlock key with this library's prefix makes the name unusable while it is there", async () => {
  const redis = new Redis(sharedRedisUrl());
  const options = onSharedRedis();
  const app = await Test.createTestingModule({ imports: [RedisLockModule.forRoot(options)] }).compile();
  await app.init();
  const name = randomUUID();
  try {
    await redis.set(`${options.keyPrefix}{${name}}`, 'a value of redlock', 'PX', 60_000);
    await expect(app.get(RedisLockService).acquire(name)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  } finally {
    await app.close();
    redis.disconnect();
  }
});
