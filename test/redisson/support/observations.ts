import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { Peer, type PeerProgram, watchdog } from './peer.js';

/** Resolves when the condition holds. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(2);
}

/** What Redisson leaves in Redis, and what it hears: the format that this library shares. The peer in TypeScript does the same. */
export function observations(open: () => Promise<PeerProgram>, version?: string): void {
  let peer: Peer;
  let redis: Redis;
  let messages: Redis;
  const heard: string[] = [];

  beforeAll(async () => {
    [redis, messages] = [new Redis(sharedRedisUrl()), new Redis(sharedRedisUrl())];
    messages.on('message', (channel: string, message: string) => heard.push(`${channel} ${message}`));
    peer = await Peer.start(await open(), sharedRedisUrl());
  }, 300_000);
  afterAll(async () => {
    await peer.kill();
    redis.disconnect();
    messages.disconnect();
  });

  const unique = (): string => `redisson:${randomUUID()}`;
  const channelOf = (name: string): string => `redisson_lock__channel:{${name}}`;
  const listeners = async (channel: string): Promise<number> => Number((await redis.pubsub('NUMSUB', channel))[1]);
  /** The messages on a channel so far. */
  const heardOn = async (channel: string): Promise<string[]> => {
    await redis.publish(channel, 'last');
    await until(async () => heard.includes(`${channel} last`));
    return heard.filter((line) => line.startsWith(`${channel} `)).map((line) => line.slice(channel.length + 1));
  };
  const holdElsewhere = async (name: string, lease: number): Promise<void> => {
    await redis.multi().hset(name, 'another holder', 1).pexpire(name, lease).exec();
  };

  describe('a lock that is held', () => {
    it('is a hash with one field for client and thread, with the count 1 and the lifetime of the watchdog', async () => {
      const name = unique();
      expect(await peer.run('a', 'lock', 'plain', name)).toBe('held');
      const field = await peer.run('a', 'field', 'plain', name);
      expect(field).toMatch(new RegExp(`^${peer.id}:\\d+$`));
      expect(await redis.hgetall(name)).toEqual({ [field]: '1' });
      const rest = await redis.pttl(name);
      expect(rest).toBeGreaterThan(0);
      expect(rest).toBeLessThanOrEqual(watchdog);
      await peer.run('a', 'unlock', 'plain', name);
      expect(await redis.exists(name)).toBe(0);
    });

    it('counts how often its thread took it, and is free after the last unlock', async () => {
      const name = unique();
      for (const count of ['1', '2', '3']) {
        await peer.run('a', 'lock', 'plain', name);
        expect(await redis.hvals(name)).toEqual([count]);
      }
      for (const rest of [['2'], ['1'], []]) {
        await peer.run('a', 'unlock', 'plain', name);
        expect(await redis.hvals(name)).toEqual(rest);
      }
    });

    it('is not free for another thread of the same client, which cannot unlock it', async () => {
      const name = unique();
      await peer.run('a', 'lock', 'plain', name);
      expect(await peer.run('b', 'try', 'plain', name)).toBe('no');
      expect(await peer.run('b', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
      expect(await redis.hlen(name)).toBe(1);
      await peer.run('a', 'unlock', 'plain', name);
    });

    it('is renewed when it was taken without a lease', async () => {
      const name = unique();
      await peer.run('a', 'lock', 'plain', name);
      let last = await redis.pttl(name);
      await until(async () => {
        const before = last;
        last = await redis.pttl(name);
        return last > before;
      });
      await peer.run('a', 'unlock', 'plain', name);
    });

    it('ends with the lease with which it was taken, and its unlock is refused then', async () => {
      const name = unique();
      await peer.run('a', 'lock', 'plain', name, 300);
      await until(async () => (await redis.exists(name)) === 0);
      expect(await peer.run('a', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
    });
  });

  describe('messages', () => {
    it('an unlock publishes 0 on the channel of the lock once, after the last re-entry', async () => {
      const name = unique();
      await messages.subscribe(channelOf(name));
      for (const verb of ['lock', 'lock', 'unlock', 'unlock']) await peer.run('a', verb, 'plain', name);
      expect(await heardOn(channelOf(name))).toEqual(['0', 'last']);
    });

    it('the channel of a name with a brace has the name as it is', async () => {
      const name = `order:{${randomUUID()}}:pay`;
      const channel = `redisson_lock__channel:${name}`;
      await messages.subscribe(channel);
      for (const verb of ['lock', 'unlock']) await peer.run('a', verb, 'plain', name);
      expect(await heardOn(channel)).toEqual(['0', 'last']);
    });

    it('a forced unlock frees the lock of any holder, and publishes 0; of a free lock it publishes nothing', async () => {
      const name = unique();
      await messages.subscribe(channelOf(name));
      await holdElsewhere(name, 20_000);
      expect(await peer.run('a', 'force', 'plain', name)).toBe('true');
      expect(await redis.exists(name)).toBe(0);
      expect(await peer.run('a', 'force', 'plain', name)).toBe('false');
      expect(await heardOn(channelOf(name))).toEqual(['0', 'last']);
    });

    it('the unlock of a spin lock publishes nothing', async () => {
      const name = unique();
      await messages.subscribe(channelOf(name));
      for (const verb of ['lock', 'unlock']) await peer.run('a', verb, 'spin', name);
      expect(await heardOn(channelOf(name))).toEqual(['last']);
    });
  });

  describe('a waiter', () => {
    it('subscribes to the channel, and takes the lock of a foreign holder after a 0 on it', async () => {
      const name = unique();
      await holdElsewhere(name, 3_600_000);
      const waiting = peer.run('a', 'lock', 'plain', name);
      await until(async () => (await listeners(channelOf(name))) === 1);
      await redis.multi().del(name).publish(channelOf(name), '0').exec();
      expect(await waiting).toBe('held');
      await until(async () => (await listeners(channelOf(name))) === 0);
      await peer.run('a', 'unlock', 'plain', name);
    });

    it('takes the lock without a message when the lifetime of its last reply is over', async () => {
      const name = unique();
      await holdElsewhere(name, 700);
      expect(await peer.run('a', 'lock', 'plain', name)).toBe('held');
      await peer.run('a', 'unlock', 'plain', name);
    });

    it('gives up after the time that it may wait', async () => {
      const name = unique();
      await holdElsewhere(name, 3_600_000);
      expect(await peer.run('a', 'try', 'plain', name, 200)).toBe('no');
      await redis.del(name);
    });

    it('has one subscription for all threads, and a 0 wakes one of them', async () => {
      const name = unique();
      await holdElsewhere(name, 3_600_000);
      const waiting = ['a', 'b', 'c'].map((actor) =>
        peer.run(actor, 'lock', 'plain', name).then(() => peer.run(actor, 'unlock', 'plain', name)),
      );
      await until(async () => (await listeners(channelOf(name))) === 1);
      await redis.multi().del(name).publish(channelOf(name), '0').exec();
      // Each of them wakes the next with its unlock.
      expect(await Promise.all(waiting)).toEqual(['ok', 'ok', 'ok']);
    });
  });

  describe('other kinds', () => {
    it('a fenced lock has the same hash, and counts its grants in a key that stays', async () => {
      const name = unique();
      const counter = `redisson_lock_token:{${name}}`;
      for (const token of ['1', '2']) {
        expect(await peer.run('a', 'token', 'fenced', name)).toBe(token);
        expect(await redis.hvals(name)).toEqual(['1']);
        expect(await peer.run('b', 'try', 'plain', name)).toBe('no');
        await peer.run('a', 'unlock', 'fenced', name);
      }
      expect([await redis.get(counter), await redis.pttl(counter)]).toEqual(['2', -1]);
    });

    it('spin and fair locks have the same hash', async () => {
      for (const kind of ['spin', 'fair']) {
        const name = unique();
        await peer.run('a', 'lock', kind, name);
        expect(await redis.hgetall(name)).toEqual({ [await peer.run('a', 'field', kind, name)]: '1' });
        expect(await peer.run('b', 'try', 'plain', name)).toBe('no');
        await peer.run('a', 'unlock', kind, name);
      }
    });

    it('a waiter of a fair lock stands in a sorted set, with the time when it counts as gone, until it has the lock', async () => {
      const name = unique();
      const times = `redisson_lock_timeout:{${name}}`;
      await peer.run('a', 'lock', 'fair', name);
      const waiting = peer.run('b', 'lock', 'fair', name);
      await until(async () => (await redis.zcard(times)) === 1);
      const [field] = await redis.zrange(times, '0', '-1');
      const goneAt = await redis.zscore(times, field!);
      expect(field!.startsWith(`${peer.id}:`)).toBe(true);
      expect(Number(goneAt)).toBeGreaterThan(Date.now() + 60_000);
      await peer.run('a', 'unlock', 'fair', name);
      await waiting;
      await until(async () => (await redis.exists(times)) === 0);
      await peer.run('b', 'unlock', 'fair', name);
    });

    it('a lock of several names is one lock for each', async () => {
      const [one, other] = [unique(), unique()];
      await peer.run('a', 'lock', 'multi', `${one},${other}`);
      for (const name of [one, other]) expect(await redis.hvals(name)).toEqual(['1']);
      await peer.run('a', 'unlock', 'multi', `${one},${other}`);
      expect(await redis.exists(one, other)).toBe(0);
    });

    it('read and write locks say so in a field `mode`', async () => {
      for (const kind of ['read', 'write']) {
        const name = unique();
        await peer.run('a', 'lock', kind, name, 20_000);
        expect(await redis.hget(name, 'mode')).toBe(kind);
        await redis.del(name);
      }
    });

    const hasOnce = version === undefined || version >= '4.4.0';
    (hasOnce ? it : it.skip)('a non-re-entrant lock has the same hash, and refuses its own thread', async () => {
      const name = unique();
      await peer.run('a', 'lock', 'once', name);
      expect(await redis.hvals(name)).toEqual(['1']);
      expect(await peer.run('a', 'lock', 'once', name)).toMatch(/^!/);
      await peer.run('a', 'unlock', 'once', name);
      expect(await redis.exists(name)).toBe(0);
    });
  });
}
