import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { Accounts, type Redlock } from '../../../examples/migration/redlock.js';
import { deferred, onSharedRedis } from '../nest/fixtures.js';
import { sharedRedisUrl } from '../../support/redis-server.js';

type RedlockClass = new (clients: Redis[], settings: object) => Redlock;
// Its `exports` lead TypeScript to no types.
const { default: RedlockOf5 } = createRequire(import.meta.url)('redlock') as { default: RedlockClass };

type Version = 'before' | 'both' | 'after';

describe('the migration from redlock', () => {
  let redis: Redis;
  let app: TestingModule;
  const options = onSharedRedis();

  beforeAll(async () => {
    redis = new Redis(sharedRedisUrl());
    app = await Test.createTestingModule({
      imports: [RedisLockModule.forRoot(options)],
      providers: [Accounts, { provide: 'redlock', useFactory: () => new RedlockOf5([redis], { retryCount: 0 }) }],
    }).compile();
    await app.init();
  });

  afterAll(async () => {
    await app.close();
    await redis.quit();
  });

  /** Whether a second version gets the lock while the first one works. */
  const meet = async (first: Version, second: Version): Promise<boolean> => {
    const id = randomUUID();
    const accounts = app.get(Accounts);
    const [begun, leave] = [deferred(), deferred()];
    const works = accounts[first](id, async () => {
      begun.resolve();
      await leave.promise;
    });
    await begun.promise;
    let met = false;
    const locks = app.get(RedisLockService);
    // The new lock waits for 3 s: one try shows the same.
    const tried =
      second === 'after'
        ? locks.tryAcquire(`account:${id}`).then(async (lock) => {
            met = lock !== null;
            await lock?.release();
          })
        : accounts[second](id, async () => void (met = true)).catch(() => undefined);
    await tried;
    leave.resolve();
    await works;
    return met;
  };

  it.each<[Version, Version]>([
    ['before', 'both'],
    ['both', 'before'],
    ['both', 'after'],
    ['both', 'both'],
  ])('one holder at a time: %s, then %s', async (first, second) => {
    expect(await meet(first, second)).toBe(false);
  });

  it('two holders if both deploys are done in one step: redlock and this library do not see each other', async () => {
    expect(await meet('before', 'after')).toBe(true);
    expect(await meet('after', 'before')).toBe(true);
  });

  it("a redlock key with this library's prefix makes the name unusable while it is there", async () => {
    const name = randomUUID();
    await redis.set(`${options.keyPrefix}{${name}}`, 'a value of redlock', 'PX', 60_000);
    await expect(app.get(RedisLockService).acquire(name)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });
});
