import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { RenewReply } from 'nestjs-redis-lock/backend';
import { type RedissonBackend, redissonKeySpace, redissonScripts as scripts } from '../../support/backends.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { newRedissonBackend, request, unique } from '../../support/redisson-backends.js';

const hour = 3_600_000;
const keys = redissonKeySpace('', 'own', 'PUBLISH', () => false);

let server: RedisServer;
let redis: Redis;
let backend: RedissonBackend;
let name: string;

// Of its own: the register of tokens is taken away from it.
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  backend = await newRedissonBackend({}, { redis: server.url });
});
afterAll(async () => {
  await Promise.all([backend.close(), redis.quit()]);
  await server.stop();
});
beforeEach(() => {
  name = unique();
});

const take = async (reserve = 0): Promise<{ fencingToken: number; tokensUntil: number }> => {
  const terms = { id: 'a:1', lease: hour, reserve, enqueue: false, giveUpAt: Infinity };
  return (await backend.acquire(request(name, terms))) as Awaited<ReturnType<typeof take>>;
};
const renew = async (fencingToken: number, least = 0): Promise<RenewReply> =>
  (await backend.renew([{ name, id: 'a:1', fencingToken, lease: hour, reserve: 0, least }]))[0]!;

describe('a holder with a later token of its block', () => {
  it('keeps the lock when the register has expired: the clock is past that token', async () => {
    const { fencingToken, tokensUntil } = await take(5);
    expect(tokensUntil).toBeGreaterThan(fencingToken);
    await redis.del(keys.register);
    expect(await renew(tokensUntil)).toMatchObject({ validUntil: expect.any(Number) });
  });

  it('keeps the lock when the clock is behind that token, as long as the register knows it; not with one beyond it', async () => {
    const { fencingToken } = await take();
    const ahead = fencingToken + 60_000_000;
    expect(await renew(fencingToken, ahead)).toMatchObject({ tokensUntil: ahead });
    expect(await renew(ahead)).toMatchObject({ validUntil: expect.any(Number) });
    expect(await renew(ahead + 1)).toBe('lost');
    await redis.del(keys.register);
    expect(await renew(ahead)).toBe('lost');
  });
});

it('a grant that is repeated is written again: replicas confirm it also to a new connection', async () => {
  const written = async (): Promise<number> =>
    Number(/^rdb_changes_since_last_save:(\d+)/m.exec(await redis.info('persistence'))![1]);
  const first = await take();
  const before = await written();
  expect(await take()).toMatchObject({ fencingToken: first.fencingToken });
  expect(await written()).toBeGreaterThan(before);
});

it('a renewal with a shorter lease leaves the longer one', async () => {
  const { fencingToken } = await take();
  const [renewed] = await backend.renew([{ name, id: 'a:1', fencingToken, lease: 10, reserve: 0 }]);
  expect((renewed as { validUntil: number }).validUntil).toBeGreaterThan(performance.now() + hour / 2);
  expect(await redis.pttl(name)).toBeGreaterThan(hour / 2);
});

describe('a command that Redis executes too late', () => {
  const keysOfName = keys.forScript([{ name: '' }]).length;
  const run = (source: string, ...args: Array<string | number>): Promise<unknown> =>
    redis.eval(source, keysOfName, ...keys.forScript([{ name }]), ...args);
  const late = [expect.any(Number), 'late'];
  const [past, terms] = [1, keys.channelsFor([{ name: '' }])];

  it('takes no lock', async () => {
    expect(await run(scripts.acquire.source, past, terms, 0, 'a:1', `${hour} 0 1`)).toEqual(late);
    expect(await redis.exists(name)).toBe(0);
  });

  it('hands no lock over', async () => {
    const { fencingToken } = await take();
    expect(await run(scripts.adopt.source, past, 'a:1', fencingToken, 'b:1', hour, terms)).toEqual(late);
    expect(await redis.hkeys(name)).toEqual([`a:1@${fencingToken}`]);
  });
});

it('a hand-over of a name that another program uses is refused with the reason', async () => {
  await redis.set(name, 'a string');
  const adoption = { name, id: 'b:1', from: 'a:1', fencingToken: 1, lease: hour, giveUpAt: Infinity };
  await expect(backend.adopt(adoption)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
});
