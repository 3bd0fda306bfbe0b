import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { ChannelSubscriber, type ChannelTerms } from '../../../lib/backends/redis/channel-subscriber.js';
import { deferred } from '../../support/scripted-backend.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { unique, until } from './engine.js';

/** Longer than any test. */
const commandTimeout = 10_000;

describe('subscriptions to the channels of locks', () => {
  let admin: Redis;
  beforeAll(() => {
    admin = new Redis(sharedRedisUrl());
  });
  afterAll(() => admin.disconnect());
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const subscribersOf = async (channel: string): Promise<number> => Number((await admin.pubsub('NUMSUB', channel))[1]);

  /** Subscribed to `kept` throughout, so that the connection stays. */
  const subscriber = async (
    kept: string,
    given: Partial<ChannelTerms> = {},
    subscribed = (): void => undefined,
    refused = (): void => undefined,
  ) => {
    const made = new ChannelSubscriber(
      () => new Redis(sharedRedisUrl(), { lazyConnect: true, autoResubscribe: false, connectionName: kept }),
      {
        of: (name) => name,
        subscribe: async (redis, channel) => {
          await redis.subscribe(channel);
          return () => redis.unsubscribe(channel);
        },
        idle: 20,
        isWanted: (channel) => channel === kept,
        received: () => undefined,
        ...given,
      },
      commandTimeout,
      { message: () => undefined, subscribed, refused },
    );
    made.listen(kept);
    await until(() => made.listensFor(kept));
    return { made, [Symbol.asyncDispose]: () => made.close() };
  };

  it('one that is made after its last waiter has left is ended', async () => {
    const [kept, slow] = [unique(), unique()];
    const reply = deferred<void>();
    const subscribed = deferred<void>();
    await using place = await subscriber(kept, {
      subscribe: async (redis, channel) => {
        await redis.subscribe(channel);
        if (channel === slow) {
          subscribed.resolve();
          await reply.promise;
        }
        return () => redis.unsubscribe(channel);
      },
    });
    place.made.listen(slow);
    await subscribed.promise;
    expect(await subscribersOf(slow)).toBe(1);
    // Its waiter left before the reply was read.
    const swept = performance.now() + 100;
    await until(() => performance.now() > swept);
    reply.resolve();
    while ((await subscribersOf(slow)) > 0);
    expect(place.made.listensFor(slow)).toBe(false);
    expect(place.made.listensFor(kept)).toBe(true);
  });

  it('without waiters there is no connection', async () => {
    const kept = unique();
    let waits = true;
    await using _ = await subscriber(kept, { isWanted: () => waits });
    const connected = async (): Promise<boolean> => String(await admin.client('LIST')).includes(`name=${kept} `);
    expect(await connected()).toBe(true);
    waits = false;
    while (await connected());
  });

  it('one whose slot is at another node is given up, and its waiters ask again', async () => {
    const [kept, moved] = [unique(), unique()];
    let told = 0;
    let attempts = 0;
    const given: Partial<ChannelTerms> = {
      isWanted: () => true,
      subscribe: async (redis, channel) => {
        if (channel === moved) attempts++;
        if (channel === moved) throw new Error('MOVED 1 127.0.0.1:1');
        await redis.subscribe(channel);
        return () => redis.unsubscribe(channel);
      },
    };
    await using place = await subscriber(kept, given, () => told++);
    await until(() => told === 1);
    place.made.listen(moved);
    await until(() => told === 2);
    // A waiter that comes back to this node listens anew.
    place.made.listen(moved);
    await until(() => attempts === 2);
  });

  it('one that was refused is made again for a waiter that polls, once a second, and is reported once until it is', async () => {
    const [kept, denied, other] = [unique(), unique(), unique()];
    let [attempts, refusals, later] = [0, 0, 0];
    const allowed = new Set([kept]);
    const given: Partial<ChannelTerms> = {
      isWanted: () => true,
      subscribe: async (redis, channel) => {
        if (channel !== kept) attempts++;
        if (!allowed.has(channel)) throw new Error('NOPERM this user has no permissions to access one of the channels');
        await redis.subscribe(channel);
        return () => redis.unsubscribe(channel);
      },
    };
    await using place = await subscriber(kept, given, undefined, () => refusals++);
    const { now } = performance;
    jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + later);
    const ask = async (name: string): Promise<void> => {
      place.made.missed(performance.now(), name);
      // The refusal of an attempt is known two turns later.
      for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
    };
    place.made.listen(denied);
    await until(() => refusals === 1);
    await ask(denied);
    expect([attempts, refusals]).toEqual([1, 1]);
    later += 2_000;
    await ask(denied);
    expect([attempts, refusals]).toEqual([2, 1]);
    allowed.add(denied);
    later += 2_000;
    await ask(denied);
    await until(() => place.made.listensFor(denied));
    place.made.listen(other);
    await until(() => refusals === 2);
  });

  it('one whose waiters have left is ended, and the others stay', async () => {
    const [kept, other] = [unique(), unique()];
    await using place = await subscriber(kept);
    place.made.listen(other);
    await until(() => place.made.listensFor(other));
    while ((await subscribersOf(other)) > 0);
    expect(await subscribersOf(kept)).toBe(1);
  });
});
