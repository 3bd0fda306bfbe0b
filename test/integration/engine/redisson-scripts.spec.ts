import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { KeptLog } from '../../../conformance/kept-log.js';
import { RedissonBackend } from '../../../lib/backends/redis/redisson/redisson-backend.js';
import { type AcquireReply, type AcquireRequest, exclusive } from '../../../lib/core/lock-backend.js';
import { sharedRedisUrl } from '../../support/redis-server.js';

const java = '0f9c1ad2-5d0a-4c0e-9d8e-3f1f0e2b7c11:19';
const hour = 3_600_000;

let redis: Redis;
let heard: string[];
let listener: Redis;
let backend: RedissonBackend;
let fenced: RedissonBackend;
let name: string;

beforeAll(async () => {
  [redis, listener] = [new Redis(sharedRedisUrl()), new Redis(sharedRedisUrl())];
  listener.on('message', (channel: string, message: string) => channel.includes(name) && heard.push(message));
  const options = { redis: sharedRedisUrl(), log: new KeptLog() };
  backend = new RedissonBackend(options);
  fenced = new RedissonBackend({ ...options, tokens: 'fenced' });
  for (const each of [backend, fenced])
    await each.start(randomUUID(), { granted: () => undefined, recovered: () => undefined });
});
afterAll(async () => {
  await Promise.all([backend.close(), fenced.close(), redis.quit(), listener.quit()]);
});
beforeEach(async () => {
  name = `product:${randomUUID()}`;
  heard = [];
  await listener.subscribe(`redisson_lock__channel:{${name}}`);
});

const request = (id: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  ...exclusive,
  ...{ name, id, lease: hour, reserve: 0, enqueue: false, again: false, giveUpAt: Infinity, isWanted: () => true },
  ...more,
});
type Granted = Extract<AcquireReply, { status: 'granted' }>;
const take = async (id: string, more?: Partial<AcquireRequest>, by = backend): Promise<Granted> =>
  (await by.acquire(request(id, more))) as Granted;
/** All messages until now. Messages arrive in order. */
const messages = async (): Promise<string[]> => {
  await redis.publish(`redisson_lock__channel:{${name}}`, '7');
  while (!heard.includes('7')) await redis.ping();
  return heard;
};
const lockInJava = (more: Record<string, string> = {}): Promise<unknown> =>
  redis
    .multi()
    .hset(name, { [java]: '1', ...more })
    .pexpire(name, hour)
    .exec();

describe('a request in the format of Redisson', () => {
  it('that is repeated neither shortens nor lengthens the lease in Redis', async () => {
    await take('a:1', { lease: 50_000 });
    expect(await take('a:1', { lease: 2 * hour })).toMatchObject({ status: 'granted' });
    expect(await redis.pttl(name)).toBeLessThanOrEqual(50_000);
    await take('a:1', { lease: 10 });
    expect(await redis.pttl(name)).toBeGreaterThan(40_000);
  });

  it('that is repeated gives a lock without a lifetime one', async () => {
    await take('a:1');
    await redis.persist(name);
    await take('a:1', { lease: 50_000 });
    expect(await redis.pttl(name)).toBeGreaterThan(0);
  });

  it('of a claim whose work is over, and whose lock minHold keeps, is refused', async () => {
    await take('a:1');
    expect(await backend.release({ name, id: 'a:1', keepUntil: performance.now() + hour })).toBe('released');
    expect(await backend.acquire(request('a:1'))).toMatchObject({ status: 'contended', holder: { id: 'a:1' } });
    expect(await backend.release({ name, id: 'a:1' })).toBe('absent');
    expect(await redis.hlen(name)).toBe(1);
  });

  it('that is repeated with more tokens to reserve gets them', async () => {
    await take('a:1', {}, fenced);
    expect(await take('a:1', { reserve: 5 }, fenced)).toMatchObject({ fencingToken: 1, tokensUntil: 6 });
    expect([backend.capabilities.dated, fenced.capabilities.dated]).toEqual([true, false]);
  });

  it('that does not get the lock learns for how many ms its holder has it', async () => {
    await take('a:1');
    const refused = await backend.acquire(request('b:1'));
    const [holder] = (await backend.inspect(name, 1)).holders;
    expect((refused as { holder: { heldFor: number } }).holder.heldFor).toBeLessThanOrEqual(holder!.heldFor!);
  });

  it('that waits asks again soon until its subscription is heard of, and then at its next poll', async () => {
    await lockInJava();
    let listens = (): void => undefined;
    const subscribed = new Promise<void>((resolve) => (listens = resolve));
    const waiting = new RedissonBackend({ redis: sharedRedisUrl(), log: new KeptLog(), poll: 600_000 });
    await waiting.start(randomUUID(), {
      granted: () => undefined,
      recovered: (what) => (what === 'messages' ? listens() : undefined),
    });
    const ask = async (again: boolean): Promise<number> => {
      const reply = await waiting.acquire(request('a:1', { enqueue: true, again }));
      return (reply as { askAt: number }).askAt - performance.now();
    };
    expect(await ask(false)).toBeLessThan(100_000);
    await subscribed;
    expect(await ask(true)).toBeGreaterThan(100_000);
    await waiting.close();
  });

  it('for a lock of another program without a lifetime waits, and asks now and then', async () => {
    await redis.hset(name, java, 1);
    const reply = await backend.acquire(request('a:1'));
    expect(reply).toMatchObject({ status: 'contended', rest: hour, holder: { id: java, leaseLeft: hour } });
  });

  it('shares a command with others, and each has its own terms, tokens and lock', async () => {
    const names = [1, 2, 3].map((index) => `${name}:${index}`);
    const replies = await Promise.all(
      names.map((each, index) => take(`a:${index}`, { name: each, lease: (index + 1) * 100_000, reserve: 5 * index })),
    );
    for (const [index, each] of names.entries()) {
      const { fencingToken, tokensUntil } = replies[index]!;
      expect(await redis.hkeys(each)).toEqual([`a:${index}@${fencingToken}`]);
      expect(Math.ceil((await redis.pttl(each)) / 100_000)).toBe(index + 1);
      expect(tokensUntil - fencingToken).toBeGreaterThanOrEqual(0);
    }
    const released = await Promise.all(names.map((each, index) => backend.release({ name: each, id: `a:${index}` })));
    expect(released).toEqual(['released', 'released', 'released']);
    expect(await redis.exists(...names)).toBe(0);
  });

  it('is decided for each name alone: a key of another type fails for its own claim', async () => {
    await redis.set(name, 'a string', 'PX', hour);
    const [foreign, own] = await Promise.allSettled([take('a:1'), take('a:2', { name: `${name}:2` })]);
    expect(foreign).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_CONFIGURATION' } });
    expect(own).toMatchObject({ status: 'fulfilled', value: { status: 'granted' } });
    expect(await backend.renew([{ name, id: 'a:1', fencingToken: 1, lease: 1, reserve: 0 }])).toEqual(['lost']);
  });
});

describe('a release in the format of Redisson', () => {
  it('publishes 0 once; one of a claim that does not hold publishes nothing', async () => {
    await take('a:1');
    expect(await backend.release({ name, id: 'b:1' })).toBe('absent');
    expect(await backend.release({ name, id: 'a:1' })).toBe('released');
    expect(await backend.release({ name, id: 'a:1' })).toBe('absent');
    expect(await messages()).toEqual(['0', '7']);
  });

  it('with minHold leaves the lock for that time, publishes 0 for the shorter lease, and is the end of the hold', async () => {
    const { fencingToken } = await take('a:1');
    await backend.release({ name, id: 'a:1', keepUntil: performance.now() + 60_000 });
    expect(await redis.pttl(name)).toBeLessThanOrEqual(60_000);
    expect(await messages()).toEqual(['0', '7']);
    expect(await backend.renew([{ name, id: 'a:1', fencingToken, lease: hour, reserve: 0 }])).toEqual(['lost']);
    const adoption = { name, id: 'b:1', from: 'a:1', fencingToken, lease: hour, giveUpAt: Infinity };
    expect(await backend.adopt(adoption)).toBe('gone');
  });

  it('of a name with a hash tag publishes on the channel of the name as it is', async () => {
    name = `order:{${randomUUID()}}:pay`;
    await listener.subscribe(`redisson_lock__channel:${name}`);
    await take('a:1');
    await backend.release({ name, id: 'a:1' });
    while (heard.length === 0) await redis.ping();
    expect(heard).toEqual(['0']);
  });

  it('leaves the field of a read lock that Java took on the same name', async () => {
    const { fencingToken } = await take('a:1');
    await redis.hset(name, { mode: 'read', [java]: 1 });
    expect(await backend.revoke(name, [{ id: 'a:1', fencingToken }])).toEqual(['a:1']);
    expect(Object.keys(await redis.hgetall(name)).sort()).toEqual([java, 'mode'].sort());
  });

  it('of some claims in one command says for each whether it held', async () => {
    await take('a:1');
    const other = `${name}:2`;
    const replies = await Promise.all([
      backend.release({ name: other, id: 'a:2' }),
      backend.release({ name, id: 'a:1' }),
    ]);
    expect(replies).toEqual(['absent', 'released']);
  });
});

describe('a hand-over in the format of Redisson', () => {
  const adopt = (id: string, from: string, fencingToken: number, lease: number) =>
    backend.adopt({ name, id, from, fencingToken, lease, giveUpAt: Infinity });

  it('has one field at each moment, the given lease, and a message only when that is shorter', async () => {
    const { fencingToken } = await take('a:1');
    expect(await adopt('b:1', 'a:1', fencingToken, 2 * hour)).toMatchObject({ validUntil: expect.any(Number) });
    expect(await redis.hkeys(name)).toEqual([`b:1@${fencingToken}`]);
    expect(await redis.pttl(name)).toBeGreaterThan(hour);
    expect(await messages()).toEqual(['7']);
    heard = [];
    await adopt('c:1', 'b:1', fencingToken, 60_000);
    expect(await redis.pttl(name)).toBeLessThanOrEqual(60_000);
    expect(await messages()).toEqual(['0', '7']);
  });

  it('that is repeated never shortens the lease', async () => {
    const { fencingToken } = await take('a:1');
    await adopt('b:1', 'a:1', fencingToken, hour);
    expect(await adopt('b:1', 'a:1', fencingToken, 10)).toMatchObject({ validUntil: expect.any(Number) });
    expect(await redis.pttl(name)).toBeGreaterThan(60_000);
    expect(await adopt('b:1', 'z:1', fencingToken - 1, hour)).toBe('gone');
    expect(await adopt('c:1', 'a:1', fencingToken, hour)).toBe('taken');
  });

  it('has the token that it names, also a later one of the block', async () => {
    const { fencingToken } = await take('a:1', { reserve: 5 });
    await adopt('b:1', 'a:1', fencingToken + 2, hour);
    expect(await redis.hkeys(name)).toEqual([`b:1@${fencingToken + 2}`]);
  });

  it('takes nothing that minHold alone keeps; nor does a renewal', async () => {
    const { fencingToken } = await take('a:1');
    await backend.release({ name, id: 'a:1', keepUntil: performance.now() + hour });
    expect(await adopt('b:1', 'a:1', fencingToken, hour)).toBe('gone');
    expect(await backend.renew([{ name, id: 'a:1', fencingToken, lease: 2 * hour, reserve: 0 }])).toEqual(['lost']);
    expect(await redis.hkeys(name)).toEqual([`a:1@${fencingToken}@kept`]);
    expect(await redis.pttl(name)).toBeLessThanOrEqual(hour);
  });

  it('takes no lock of Java, and no other grant', async () => {
    const { fencingToken } = await take('a:1');
    expect(await adopt('b:1', 'a:1', fencingToken - 1, hour)).toBe('gone');
    await backend.release({ name, id: 'a:1' });
    await lockInJava();
    expect(await adopt('b:1', 'a:1', fencingToken, hour)).toBe('gone');
    expect(await redis.hkeys(name)).toEqual([java]);
  });
});

describe('a view in the format of Redisson', () => {
  it('shows a lock that minHold keeps, its rest and its age', async () => {
    const { fencingToken } = await take('a:1');
    await backend.release({ name, id: 'a:1', keepUntil: performance.now() + 60_000 });
    const { kind, holders, waiters } = await backend.inspect(name, 10);
    expect({ kind, waiters }).toEqual({ kind: 'exclusive', waiters: [] });
    expect(holders).toEqual([
      {
        id: 'a:1',
        fencingToken,
        heldFor: expect.any(Number),
        leaseLeft: expect.any(Number),
        state: 'kept',
        permits: 1,
      },
    ]);
    expect(holders[0]!.leaseLeft).toBeGreaterThan(30_000);
    expect(holders[0]!.heldFor).toBeLessThan(60_000);
  });

  it('shows no time for a holder whose token is counted, not even to a client with own tokens', async () => {
    const { fencingToken } = await take('a:1', {}, fenced);
    expect(fencingToken).toBe(1);
    for (const each of [backend, fenced])
      expect((await each.inspect(name, 1)).holders).toMatchObject([{ fencingToken: 1, heldFor: undefined }]);
    expect(await backend.acquire(request('b:1'))).toMatchObject({ holder: { fencingToken: 1, heldFor: undefined } });
  });

  it('shows no time either where the counter was set to go on above tokens of this library', async () => {
    await redis.set(`redisson_lock_token:{${name}}`, Date.now() * 1000);
    await take('a:1', {}, fenced);
    expect((await fenced.inspect(name, 1)).holders).toMatchObject([{ heldFor: undefined }]);
    expect(await fenced.acquire(request('b:1'))).toMatchObject({ holder: { heldFor: undefined } });
  });

  it('of a lock of another program without a lifetime says what a refused request says', async () => {
    await redis.hset(name, java, 1);
    expect((await backend.inspect(name, 1)).holders).toMatchObject([{ id: java, leaseLeft: hour }]);
  });

  it('shows a read lock of Java as shared, a write lock as exclusive, and not its mode', async () => {
    for (const [mode, kind] of [
      ['read', 'shared'],
      ['write', 'exclusive'],
    ]) {
      await lockInJava({ mode: mode! });
      expect(await backend.inspect(name, 1)).toMatchObject({ kind, holders: [{ id: java, fencingToken: undefined }] });
    }
  });

  it('of a lock that is free has no kind, and none of a mode that is left', async () => {
    expect(await backend.inspect(name, 1)).toMatchObject({ kind: undefined, holders: [] });
    await redis.hset(name, 'mode', 'read');
    expect(await backend.inspect(name, 1)).toMatchObject({ kind: undefined, holders: [] });
    await redis.del(name);
  });
});

describe('a forced release in the format of Redisson', () => {
  it('takes the named holder alone, and removes a mode that is left', async () => {
    await lockInJava({ mode: 'read', 'other:1': '1' });
    expect(await backend.revoke(name, [{ id: 'mode', fencingToken: undefined }])).toEqual([]);
    expect(await backend.revoke(name, [{ id: java, fencingToken: undefined }])).toEqual([java]);
    expect(Object.keys(await redis.hgetall(name)).sort()).toEqual(['mode', 'other:1']);
    expect(await backend.revoke(name, [{ id: 'other:1', fencingToken: undefined }])).toEqual(['other:1']);
    expect(await redis.exists(name)).toBe(0);
    expect(await messages()).toEqual(['0', '0', '7']);
  });

  it('takes nothing by another token, or by none', async () => {
    const { fencingToken } = await take('a:1');
    for (const wrong of [fencingToken - 1, undefined])
      expect(await backend.revoke(name, [{ id: 'a:1', fencingToken: wrong }])).toEqual([]);
    expect(await redis.hlen(name)).toBe(1);
  });
});

describe('tokens of the counter of RFencedLock', () => {
  const counter = (): string => `redisson_lock_token:{${name}}`;

  it('reserve a block behind the granted one, which Java goes on above', async () => {
    expect(await take('a:1', { reserve: 9 }, fenced)).toMatchObject({ fencingToken: 1, tokensUntil: 10 });
    expect(await redis.get(counter())).toBe('10');
    const hold = { name, id: 'a:1', fencingToken: 1, lease: hour };
    expect(await fenced.renew([{ ...hold, reserve: 20 }])).toMatchObject([{ tokensUntil: 21 }]);
    expect(await redis.get(counter())).toBe('21');
    // Less than what it has: nothing is taken back.
    expect(await fenced.renew([{ ...hold, reserve: 1 }])).toMatchObject([{ tokensUntil: 21 }]);
    expect(await fenced.renew([{ ...hold, reserve: 0, least: 40 }])).toMatchObject([{ tokensUntil: 40 }]);
    expect(await redis.incr(counter())).toBe(41);
  });

  it('renew with a later token of the block, and with none beyond it', async () => {
    await take('a:1', { reserve: 9 }, fenced);
    const renewed = (fencingToken: number) =>
      fenced.renew([{ name, id: 'a:1', fencingToken, lease: hour, reserve: 0 }]);
    expect(await renewed(10)).not.toEqual(['lost']);
    expect(await renewed(11)).toEqual(['lost']);
    expect(await renewed(0)).toEqual(['lost']);
  });

  it.each(['-5', '-1', '9007199254740991', '99999999999999990', '9223372036854775000'])(
    'give no lock, and leave none, where the counter is %s',
    async (count) => {
      await redis.set(counter(), count);
      await expect(take('a:1', { reserve: 0 }, fenced)).rejects.toMatchObject({
        code: 'LOCK_UNAVAILABLE',
        message: expect.stringContaining('the counter of fencing tokens is out of range'),
      });
      expect(await redis.exists(name)).toBe(0);
    },
  );

  it('go up to the largest number that is exact', async () => {
    await redis.set(counter(), '9007199254740990');
    expect(await take('a:1', {}, fenced)).toMatchObject({ fencingToken: Number.MAX_SAFE_INTEGER });
    expect(await fenced.release({ name, id: 'a:1' })).toBe('released');
  });
});
