import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { RenewRequest } from 'nestjs-redis-lock/backend';
import { ownChannelOf, type RedissonBackend } from '../../support/backends.js';
import { Courtesy } from '../../../lib/backends/redis/redisson/courtesy.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import {
  channelOf,
  java as javaThread,
  listeningBackend,
  newRedissonBackend,
  request,
  unique,
} from '../../support/redisson-backends.js';

let redis: Redis;
let listener: Redis;
let name: string;
beforeAll(() => void ([redis, listener] = [new Redis(sharedRedisUrl()), new Redis(sharedRedisUrl())]));
beforeEach(() => void (name = unique()));
afterAll(() => Promise.all([redis.quit(), listener.quit()]));

const remembered = (backend: RedissonBackend): number =>
  Object.values(backend)
    .flatMap((part: unknown) => (part instanceof Courtesy ? Object.values(part) : [part]))
    .filter((part): part is Map<unknown, unknown> => part instanceof Map)
    .reduce((sum, { size }) => sum + size, 0);

describe('a release for which other processes listen', () => {
  describe('in the backend', () => {
    it('does not keep a free lock from a caller with less time than others have to ask first', async () => {
      await using backend = await newRedissonBackend();
      await listener.subscribe(channelOf(name));
      const first = request(name);
      expect(await backend.acquire(first)).toMatchObject({ status: 'granted', othersWait: true });
      const [, second] = [await backend.release(first), request(name, { giveUpAt: performance.now() + 2 })];
      expect(await backend.acquire(second)).toMatchObject({ status: 'granted' });
      await backend.release(second);
    });

    it('is not remembered for a claim that was given up before its grant came', async () => {
      await using backend = await newRedissonBackend();
      await listener.subscribe(channelOf(name));
      let isWanted = true;
      const claim = request(name, { isWanted: () => isWanted });
      const granted = backend.acquire(claim);
      isWanted = false;
      const released = backend.release(claim);
      expect([await granted, await released]).toEqual([expect.objectContaining({ othersWait: true }), 'released']);
      expect(remembered(backend)).toBe(0);
    });

    it('leaves the lock to those of whom the last renewal that asked has told', async () => {
      await using backend = await newRedissonBackend();
      const turn = async (
        at: string,
        meanwhile: (renew: (terms: Pick<RenewRequest, 'reserve' | 'least'>) => Promise<unknown>) => Promise<unknown>,
      ): Promise<unknown[]> => {
        const [claim, next] = [request(at), request(at)];
        const { fencingToken } = (await backend.acquire(claim)) as { fencingToken: number };
        await meanwhile((terms) => backend.renew([{ ...claim, fencingToken, ...terms }]));
        // In one turn, as the client does.
        const replies = await Promise.all([backend.release(claim), backend.acquire(next)]);
        await backend.release(next);
        return replies;
      };
      for (const terms of [{ reserve: 1 }, { reserve: 0, least: 1 }]) {
        const began = unique();
        const left = await turn(began, async (renew) => {
          await listener.subscribe(channelOf(began));
          await renew(terms);
          await renew({ reserve: 0 });
        });
        expect(left).toEqual(['released', expect.objectContaining({ status: 'queued' })]);
      }
      const ended = unique();
      await listener.subscribe(channelOf(ended));
      const taken = await turn(ended, async (renew) => {
        await listener.unsubscribe(channelOf(ended));
        await renew({ reserve: 1 });
      });
      expect(taken).toEqual(['released', expect.objectContaining({ status: 'granted' })]);
    });

    it('is not remembered for a lock that was lost; nor is a waiter whose request failed', async () => {
      await using backend = await newRedissonBackend();
      const [lost, foreign] = [unique(), unique()];
      await listener.subscribe(channelOf(lost));
      const claim = request(lost);
      const { fencingToken } = (await backend.acquire(claim)) as { fencingToken: number };
      await redis.del(lost);
      expect(await backend.renew([{ ...claim, fencingToken }])).toEqual(['lost']);
      await redis.set(foreign, 'a string', 'PX', 60_000);
      await expect(backend.acquire(request(foreign))).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
      expect(remembered(backend)).toBe(0);
    });

    it('is remembered for 1,000 holds that were handed over, and not for more', async () => {
      await using backend = await newRedissonBackend();
      const names = Array.from({ length: 1_100 }, unique);
      await listener.subscribe(...names.map(channelOf));
      await Promise.all(names.map((name) => backend.acquire(request(name))));
      expect(remembered(backend)).toBe(1_000);
      await redis.del(...names);
    });
  });
});

/** A process with a waiter, and whether that one asks later than at once after a release. */
const waiter = async () => {
  let told = (_: boolean): void => undefined;
  const made = await listeningBackend((_, at) => told(at > performance.now()));
  const waits = async (release: () => Promise<unknown>): Promise<boolean> => {
    const answer = new Promise<boolean>((resolve) => (told = resolve));
    await release();
    return answer;
  };
  return { ...made, waits };
};
/** Waiters of Redisson listen to one channel, those of this library to two. */
const listenHere = async (...listeners: Redis[]): Promise<void> => {
  for (const each of listeners) await each.subscribe(channelOf(name), ownChannelOf(channelOf(name)));
};

describe('a turn', () => {
  const others: Redis[] = [];
  beforeAll(() => void others.push(listener.duplicate(), listener.duplicate()));
  afterAll(() => Promise.all(others.map((other) => other.quit())));

  it('of another process here ends in one of Redisson that waits, and not in a second one', async () => {
    const { backend: made, heard, waits } = await waiter();
    await using backend = made;
    await using holder = await newRedissonBackend();
    const [held, claim] = [request(name), request(name)];
    await holder.acquire(held);
    await backend.acquire(claim);
    await heard;
    await listener.subscribe(channelOf(name));
    expect(await backend.acquire({ ...claim, again: true })).toMatchObject({ status: 'queued', yields: true });
    expect(await waits(() => holder.release(held))).toBe(true);
    expect(await waits(() => redis.publish(channelOf(name), '0'))).toBe(false);
  });

  it.each([
    ['of another process here', 'while no one waits in Java', 'here'],
    ['of Redisson', 'while another one waits in Java', 'java'],
  ] as const)('%s ends in one of the first that asks, %s', async (_, __, who) => {
    const { backend: made, heard, waits } = await waiter();
    await using backend = made;
    await using holder = await newRedissonBackend();
    const [held, claim] = [request(name), request(name)];
    if (who === 'here') await holder.acquire(held);
    else await redis.multi().hset(name, javaThread, 1).pexpire(name, 60_000).exec();
    await backend.acquire(claim);
    await heard;
    if (who === 'here') await listenHere(listener);
    else await listener.subscribe(channelOf(name));
    expect(await backend.acquire({ ...claim, again: true })).toMatchObject({ status: 'queued', yields: false });
    const release = (): Promise<unknown> =>
      who === 'here' ? holder.release(held) : redis.multi().del(name).publish(channelOf(name), '0').exec();
    expect(await waits(release)).toBe(false);
  });

  it.each([
    ['while one of Redisson waits, ends in one for each other process here, too', true, [true, true, true, false]],
    ['ends in one of another process here', false, [true, false, false, false]],
  ])('here, %s', async (_, java, expected) => {
    await listenHere(...others);
    await (java ? listener.subscribe(channelOf(name)) : listenHere(listener));
    const { backend: made, heard, waits } = await waiter();
    await using backend = made;
    const [first, second] = [request(name), request(name)];
    expect(await backend.acquire(first)).toMatchObject({ status: 'granted', othersWait: true });
    await backend.acquire(second);
    await heard;
    const asks = [await waits(() => backend.release(first))];
    while (asks.length < expected.length) asks.push(await waits(() => redis.publish(channelOf(name), '0')));
    expect(asks).toEqual(expected);
  });

  it('leaves the lock to others once: a claim that waits already is not held back again', async () => {
    await using backend = await newRedissonBackend();
    await listener.subscribe(channelOf(name));
    const [first, second] = [request(name), request(name)];
    await backend.acquire(first);
    const replies = await Promise.all([
      backend.release(first),
      backend.acquire(second),
      backend.acquire({ ...second, again: true }),
    ]);
    expect(replies).toMatchObject(['released', { status: 'queued' }, { status: 'granted' }]);
  });

  it('is forgotten after a while, with the claim that had it', async () => {
    await using backend = await newRedissonBackend();
    await listener.subscribe(channelOf(name));
    const claim = request(name);
    await backend.acquire(claim);
    await backend.release(claim);
    expect(remembered(backend)).toBe(1);
    while (remembered(backend) > 0) await redis.ping();
  });
});
