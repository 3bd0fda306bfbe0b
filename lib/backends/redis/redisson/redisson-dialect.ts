import type { Redis } from 'ioredis';
import { CallBatches } from '../call-batches.js';
import { ChannelSubscriber, type Unsubscribe } from '../channel-subscriber.js';
import type { RedisDialect } from '../redis-backend.js';
import { scripts as native } from '../scripts.generated.js';
import { ownChannelOf, redissonKeySpace, type RedissonKeySpace, type RedissonTokens } from './redisson-keys.js';
import { redissonRefusals } from './redisson.messages.js';
import { scripts } from './scripts.generated.js';

const { activity } = native;

/** Others take a listener for a waiter: a subscription outlives its last waiter by so long (ms) at most, for a lock that is taken often. */
const longestIdle = 2000;

/** What the dialect of a server tells its backend, and asks it. */
interface RedissonWaiters {
  /** The channel of each lock is known. */
  channelsAre(channelOf: (name: string) => string): void;
  /** True while a claim waits at this channel. */
  isWanted(channel: string): boolean;
  /** A message came on this channel. */
  woken(channel: string): void;
}

/** How to talk to one server in Redisson's format. @param inCluster true for a node of a cluster */
export function redissonDialect(
  tokens: RedissonTokens,
  inCluster: boolean,
  commandTimeout: number,
  waiters: RedissonWaiters,
): RedisDialect {
  let keys: RedissonKeySpace;
  let listener: ChannelSubscriber | undefined;
  const subscribe = inCluster ? listenBothWays : listenPlainly;
  return {
    scripts: { ...scripts, activity },
    keys(prefix) {
      const publish = inCluster ? 'SPUBLISH' : 'PUBLISH';
      keys = redissonKeySpace(prefix, tokens, publish, (name) => listener?.listensFor(name) ?? false);
      waiters.channelsAre(keys.channelOf);
      return keys;
    },
    calls: (connection, patience, replicas) => new CallBatches(connection, keys, patience, replicas),
    mismatch: (name, held) =>
      held === 'fair' ? redissonRefusals.fairLock(name) : redissonRefusals.readWriteLock(name),
    listener(connect, _clientId, _patience, events) {
      const { isWanted, woken: received } = waiters;
      const channels = { of: keys.channelOf, subscribe, idle: longestIdle, isWanted, received };
      listener = new ChannelSubscriber(connect, channels, commandTimeout, events);
      return listener;
    },
    subscribe,
  };
}

async function listenPlainly(redis: Redis, channel: string): Promise<Unsubscribe> {
  const channels = [channel, ownChannelOf(channel)];
  await redis.subscribe(...channels);
  return () => redis.unsubscribe(...channels);
}

/**
 * A Redisson on a cluster publishes sharded messages or plain ones: it depends on its version, its settings and, for some versions, on the
 * order of its addresses. It does not show which, so both are heard. The plain subscription comes first and ends last: the scripts compare
 * the counts.
 */
async function listenBothWays(redis: Redis, channel: string): Promise<Unsubscribe> {
  const channels = [channel, ownChannelOf(channel)];
  const leave = (): Promise<unknown> =>
    Promise.allSettled([redis.sunsubscribe(...channels), redis.unsubscribe(...channels)]);
  try {
    await Promise.all([redis.subscribe(...channels), redis.ssubscribe(...channels).catch(unlessUnknown)]);
    return leave;
  } catch (error) {
    void leave();
    throw error;
  }
}

/** Before Redis 7 there are no sharded messages. */
function unlessUnknown(error: Error): void {
  if (!/unknown command/i.test(error.message)) throw error;
}
