import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient } from 'nestjs-redis-lock/client';
import { RedisBackend, RedissonBackend } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { startRedis } from '../../support/redis-server.js';
import { hour, RedissonBench } from './redisson-bench.js';

const bench = new RedissonBench();

describe('tokens of the counter of RFencedLock', () => {
  const counter = (): string => `redisson_lock_token:{${bench.name}}`;

  it('reserve a block behind the granted one, which Java goes on above', async () => {
    expect(await bench.take('a:1', { reserve: 9 }, bench.fenced)).toMatchObject({ fencingToken: 1, tokensUntil: 10 });
    expect(await bench.redis.get(counter())).toBe('10');
    const hold = { name: bench.name, id: 'a:1', fencingToken: 1, lease: hour };
    expect(await bench.fenced.renew([{ ...hold, reserve: 20 }])).toMatchObject([{ tokensUntil: 21 }]);
    expect(await bench.redis.get(counter())).toBe('21');
    // Less than what it has: nothing is taken back.
    expect(await bench.fenced.renew([{ ...hold, reserve: 1 }])).toMatchObject([{ tokensUntil: 21 }]);
    expect(await bench.redis.get(counter())).toBe('21');
    expect(await bench.fenced.renew([{ ...hold, reserve: 0, least: 40 }])).toMatchObject([{ tokensUntil: 40 }]);
    expect(await bench.redis.incr(counter())).toBe(41);
  });

  it.each(['-5', '-1', '9007199254740991', '99999999999999990', '9223372036854775000', 'no number'])(
    'give no lock, and leave none, where the counter is %s',
    async (count) => {
      await bench.redis.set(counter(), count);
      await expect(bench.take('a:1', { reserve: 0 }, bench.fenced)).rejects.toMatchObject({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining(`key '${counter()}' in Redis at`),
      });
      expect(await bench.redis.exists(bench.name)).toBe(0);
    },
  );

  it('go up to the largest number that is exact', async () => {
    await bench.redis.set(counter(), '9007199254740990');
    const granted = await bench.take('a:1', {}, bench.fenced);
    expect(granted).toMatchObject({ fencingToken: Number.MAX_SAFE_INTEGER });
    expect(await bench.fenced.release({ name: bench.name, id: 'a:1' })).toBe('released');
  });

  it('renew with a later token of the block, and with none beyond it', async () => {
    await bench.take('a:1', { reserve: 9 }, bench.fenced);
    const renewed = (fencingToken: number) =>
      bench.fenced.renew([{ name: bench.name, id: 'a:1', fencingToken, lease: hour, reserve: 0 }]);
    expect(await renewed(10)).not.toEqual(['lost']);
    expect(await renewed(11)).toEqual(['lost']);
    expect(await renewed(0)).toEqual(['lost']);
  });
});

describe.each([
  ['the register', 'lock:token-register', {}],
  ["the register, in Redisson's format,", 'nestjs-redis-lock:token-register', { redisson: true }],
  ['the counter of RFencedLock', 'redisson_lock_token:{product:42}', { redisson: { tokens: 'fenced' as const } }],
])('%s', (_, key, options) => {
  const name = 'product:42';

  it.each(['9007199254740991', '9007199254740992', '9223372036854775807'])(
    'at %s: no lock is granted and it does not go back until it is deleted; the error names it',
    async (value) => {
      await using server = await startRedis();
      const client = createLockClient({ redis: server.url, ...options, log: new KeptLog() });
      const redis = new Redis(server.url);
      await redis.set(key, value);
      for (let again = 0; again < 3; again++)
        await expect(client.acquire(name)).rejects.toMatchObject({
          code: 'LOCK_CONFIGURATION',
          message: expect.stringContaining(`key '${key}' in Redis at`),
        });
      await expect(client.acquire([name, 'product:43'])).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
      expect(BigInt((await redis.get(key))!)).toBeGreaterThanOrEqual(BigInt(value));
      expect((await redis.keys('*')).filter((each) => /^(lock:)?product:/.test(each))).toEqual([]);
      await redis.del(key);
      await (await client.acquire(name)).release();
      await Promise.all([client.close(), redis.quit()]);
    },
  );

  it('beyond the largest token while a lock is held does not take the lock away: its holder gets no further tokens', async () => {
    await using server = await startRedis();
    const { redisson } = options as { redisson?: true | { tokens: 'fenced' } };
    const at = { redis: server.url, log: new KeptLog() };
    const backend = redisson
      ? new RedissonBackend({ ...at, ...(redisson !== true && redisson) })
      : new RedisBackend(at);
    await backend.start('client', { granted: () => undefined, recovered: () => undefined });
    const redis = new Redis(server.url);
    const { fencingToken } = await bench.take('a:1', { name }, backend);
    await redis.set(key, '9007199254740995');
    const [renewed] = await backend.renew([{ name, id: 'a:1', fencingToken, lease: hour, reserve: 5 }]);
    expect(renewed).toMatchObject({ tokensUntil: fencingToken });
    await Promise.all([backend.close(), redis.quit()]);
  });
});
