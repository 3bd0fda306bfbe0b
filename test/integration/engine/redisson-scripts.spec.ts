import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { RedissonBackend } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { channelOf, java } from '../../support/redisson-backends.js';
import { hour, RedissonBench } from './redisson-bench.js';

const bench = new RedissonBench();

describe('a request in the format of Redisson', () => {
  it('that is repeated neither shortens nor lengthens the lease in Redis', async () => {
    await bench.take('a:1', { lease: 50_000 });
    // The listener of the bench.
    expect(await bench.take('a:1', { lease: 2 * hour })).toMatchObject({ status: 'granted', othersWait: true });
    expect(await bench.redis.pttl(bench.name)).toBeLessThanOrEqual(50_000);
    await bench.take('a:1', { lease: 10 });
    expect(await bench.redis.pttl(bench.name)).toBeGreaterThan(40_000);
  });

  it('that is repeated gives a lock without a lifetime one', async () => {
    await bench.take('a:1');
    await bench.redis.persist(bench.name);
    await bench.take('a:1', { lease: 50_000 });
    expect(await bench.redis.pttl(bench.name)).toBeGreaterThan(0);
  });

  it('of a claim whose work is over, and whose lock minHold keeps, is refused', async () => {
    await bench.take('a:1');
    expect(await bench.backend.release({ name: bench.name, id: 'a:1', keepUntil: performance.now() + hour })).toBe(
      'released',
    );
    expect(await bench.backend.acquire(bench.request('a:1'))).toMatchObject({
      status: 'contended',
      holder: { id: 'a:1' },
    });
    expect(await bench.backend.release({ name: bench.name, id: 'a:1' })).toBe('absent');
    expect(await bench.redis.hlen(bench.name)).toBe(1);
  });

  it('that is repeated with more tokens to reserve gets them', async () => {
    await bench.take('a:1', {}, bench.fenced);
    expect(await bench.take('a:1', { reserve: 5 }, bench.fenced)).toMatchObject({ fencingToken: 1, tokensUntil: 6 });
    expect([bench.backend.capabilities.dated, bench.fenced.capabilities.dated]).toEqual([true, false]);
  });

  it('that does not get the lock learns for how many ms its holder has it', async () => {
    await bench.take('a:1');
    const refused = await bench.backend.acquire(bench.request('b:1'));
    const [holder] = (await bench.backend.inspect(bench.name, 1)).holders;
    expect((refused as { holder: { heldFor: number } }).holder.heldFor).toBeLessThanOrEqual(holder!.heldFor!);
  });

  it('that waits asks again soon until its subscription is heard of, and then at its next poll', async () => {
    await bench.lockInJava();
    let listens = (): void => undefined;
    const subscribed = new Promise<void>((resolve) => (listens = resolve));
    const waiting = new RedissonBackend({ redis: sharedRedisUrl(), log: new KeptLog(), poll: 600_000 });
    await waiting.start(randomUUID(), {
      granted: () => undefined,
      recovered: (what) => (what === 'messages' ? listens() : undefined),
    });
    const ask = async (again: boolean): Promise<number> => {
      const reply = await waiting.acquire(bench.request('a:1', { enqueue: true, again }));
      return (reply as { askAt: number }).askAt - performance.now();
    };
    expect(await ask(false)).toBeLessThan(100_000);
    await subscribed;
    expect(await ask(true)).toBeGreaterThan(100_000);
    await waiting.close();
  });

  it('for a lock of another program without a lifetime learns that it never ends', async () => {
    await bench.redis.hset(bench.name, java, 1);
    const reply = await bench.backend.acquire(bench.request('a:1'));
    expect(reply).toMatchObject({
      status: 'contended',
      leaseLeft: Infinity,
      holder: { id: java, leaseLeft: Infinity },
    });
  });

  it('shares a command with others, and each has its own terms, tokens and lock', async () => {
    const names = [1, 2, 3].map((index) => `${bench.name}:${index}`);
    const replies = await Promise.all(
      names.map((each, index) =>
        bench.take(`a:${index}`, { name: each, lease: (index + 1) * 100_000, reserve: 5 * index }),
      ),
    );
    for (const [index, each] of names.entries()) {
      const { fencingToken, tokensUntil } = replies[index]!;
      expect(await bench.redis.hkeys(each)).toEqual([`a:${index}@${fencingToken}`]);
      expect(Math.ceil((await bench.redis.pttl(each)) / 100_000)).toBe(index + 1);
      expect(tokensUntil - fencingToken).toBeGreaterThanOrEqual(0);
    }
    const released = await Promise.all(
      names.map((each, index) => bench.backend.release({ name: each, id: `a:${index}` })),
    );
    expect(released).toEqual(['released', 'released', 'released']);
    expect(await bench.redis.exists(...names)).toBe(0);
  });

  it('is decided for each name alone: a key of another type fails for its own claim', async () => {
    await bench.redis.set(bench.name, 'a string', 'PX', hour);
    const [foreign, own] = await Promise.allSettled([
      bench.take('a:1'),
      bench.take('a:2', { name: `${bench.name}:2` }),
    ]);
    expect(foreign).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_CONFIGURATION' } });
    expect(own).toMatchObject({ status: 'fulfilled', value: { status: 'granted' } });
    expect(await bench.backend.renew([{ name: bench.name, id: 'a:1', fencingToken: 1, lease: 1, reserve: 0 }])).toEqual(
      ['lost'],
    );
  });
});

describe('a release in the format of Redisson', () => {
  it('publishes 0 once; one of a claim that does not hold publishes nothing', async () => {
    await bench.take('a:1');
    expect(await bench.backend.release({ name: bench.name, id: 'b:1' })).toBe('absent');
    expect(await bench.backend.release({ name: bench.name, id: 'a:1' })).toBe('released');
    expect(await bench.backend.release({ name: bench.name, id: 'a:1' })).toBe('absent');
    expect(await bench.messages()).toEqual(['0', '7']);
  });

  it('publishes nothing on the channel of a thread in Java that waits for a fair lock', async () => {
    await bench.listener.subscribe(`${channelOf(bench.name)}:${java}`);
    await bench.take('a:1');
    await bench.redis.zadd(`redisson_lock_timeout:{${bench.name}}`, Date.now() + hour, java);
    await bench.redis.rpush(`redisson_lock_queue:{${bench.name}}`, java);
    expect(await bench.backend.release({ name: bench.name, id: 'a:1' })).toBe('released');
    expect(await bench.messages()).toEqual(['0', '7']);
    await bench.redis.del(`redisson_lock_timeout:{${bench.name}}`, `redisson_lock_queue:{${bench.name}}`);
  });

  it('with minHold leaves the lock for that time, publishes 0 for the shorter lease, and is the end of the hold', async () => {
    const { fencingToken } = await bench.take('a:1');
    await bench.backend.release({ name: bench.name, id: 'a:1', keepUntil: performance.now() + 60_000 });
    expect(await bench.redis.pttl(bench.name)).toBeLessThanOrEqual(60_000);
    expect(await bench.messages()).toEqual(['0', '7']);
    expect(await bench.backend.renew([{ name: bench.name, id: 'a:1', fencingToken, lease: hour, reserve: 0 }])).toEqual(
      ['lost'],
    );
    const adoption = { name: bench.name, id: 'b:1', from: 'a:1', fencingToken, lease: hour, giveUpAt: Infinity };
    expect(await bench.backend.adopt(adoption)).toBe('gone');
  });

  it('of a name with a hash tag publishes on the channel of the name as it is', async () => {
    bench.name = `order:{${randomUUID()}}:pay`;
    await bench.listener.subscribe(`redisson_lock__channel:${bench.name}`);
    await bench.take('a:1');
    await bench.backend.release({ name: bench.name, id: 'a:1' });
    while (bench.heard.length === 0) await bench.redis.ping();
    expect(bench.heard).toEqual(['0']);
  });

  it('of some claims in one command says for each whether it held', async () => {
    await bench.take('a:1');
    const other = `${bench.name}:2`;
    const replies = await Promise.all([
      bench.backend.release({ name: other, id: 'a:2' }),
      bench.backend.release({ name: bench.name, id: 'a:1' }),
    ]);
    expect(replies).toEqual(['absent', 'released']);
  });
});

describe('a hand-over in the format of Redisson', () => {
  const adopt = (id: string, from: string, fencingToken: number, lease: number) =>
    bench.backend.adopt({ name: bench.name, id, from, fencingToken, lease, giveUpAt: Infinity });

  it('has one field at each moment, the given lease, and a message only when that is shorter', async () => {
    const { fencingToken } = await bench.take('a:1');
    expect(await adopt('b:1', 'a:1', fencingToken, 2 * hour)).toMatchObject({ validUntil: expect.any(Number) });
    expect(await bench.redis.hkeys(bench.name)).toEqual([`b:1@${fencingToken}`]);
    expect(await bench.redis.pttl(bench.name)).toBeGreaterThan(hour);
    expect(await bench.messages()).toEqual(['7']);
    bench.heard = [];
    await adopt('c:1', 'b:1', fencingToken, 60_000);
    expect(await bench.redis.pttl(bench.name)).toBeLessThanOrEqual(60_000);
    expect(await bench.messages()).toEqual(['0', '7']);
  });

  it('that is repeated never shortens the lease', async () => {
    const { fencingToken } = await bench.take('a:1');
    await adopt('b:1', 'a:1', fencingToken, hour);
    expect(await adopt('b:1', 'a:1', fencingToken, 10)).toMatchObject({ validUntil: expect.any(Number) });
    expect(await bench.redis.pttl(bench.name)).toBeGreaterThan(60_000);
    expect(await adopt('b:1', 'z:1', fencingToken - 1, hour)).toBe('gone');
    expect(await adopt('c:1', 'a:1', fencingToken, hour)).toBe('taken');
  });

  it('has the token that it names, also a later one of the block', async () => {
    const { fencingToken } = await bench.take('a:1', { reserve: 5 });
    await adopt('b:1', 'a:1', fencingToken + 2, hour);
    expect(await bench.redis.hkeys(bench.name)).toEqual([`b:1@${fencingToken + 2}`]);
  });

  it('takes nothing that minHold alone keeps; nor does a renewal', async () => {
    const { fencingToken } = await bench.take('a:1');
    await bench.backend.release({ name: bench.name, id: 'a:1', keepUntil: performance.now() + hour });
    expect(await adopt('b:1', 'a:1', fencingToken, hour)).toBe('gone');
    expect(
      await bench.backend.renew([{ name: bench.name, id: 'a:1', fencingToken, lease: 2 * hour, reserve: 0 }]),
    ).toEqual(['lost']);
    expect(await bench.redis.hkeys(bench.name)).toEqual([`a:1@${fencingToken}@kept`]);
    expect(await bench.redis.pttl(bench.name)).toBeLessThanOrEqual(hour);
  });

  it('takes no lock of Java, and no other grant', async () => {
    const { fencingToken } = await bench.take('a:1');
    expect(await adopt('b:1', 'a:1', fencingToken - 1, hour)).toBe('gone');
    await bench.backend.release({ name: bench.name, id: 'a:1' });
    await bench.lockInJava();
    expect(await adopt('b:1', 'a:1', fencingToken, hour)).toBe('gone');
    expect(await bench.redis.hkeys(bench.name)).toEqual([java]);
  });
});
