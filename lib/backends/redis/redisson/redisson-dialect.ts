import type { Redis } from 'ioredis';
import { ChannelSubscriber, type Unsubscribe } from '../channel-subscriber.js';
import type { RedisDialect } from '../redis-backend.js';
import { scripts as native } from '../scripts.generated.js';
import { ownChannelOf, redissonKeySpace, type RedissonKeySpace, type RedissonTokens } from './redisson-keys.js';
import { redissonRefusals } from './redisson.messages.js';
import { scripts } from './scripts.generated.js';

const { activity } = native;

/** Others take a listener for a waiter: a subscription outlives its last waiter by so long (ms) at most, for a lock that is taken often. */
const longestIdle = 2000;

/** What its backend settles for each server. */
interface RedissonTerms {
  readonly tokens: RedissonTokens;
  /** True for a node of a cluster. */
  readonly inCluster: boolean;
  readonly commandTimeout: number;
  /** True while a claim waits at this channel. */
  isWanted(channel: string): boolean;
  /** A message came on this channel. */
  woken(channel: string): void;
}

/** How to talk to one server in Redisson's format. All of it are fields: a node of a cluster spreads them into its own dialect. */
export class RedissonDialect implements RedisDialect {
  readonly scripts = { ...scripts, activity };
  readonly keys: RedissonKeySpace;
  readonly subscribe: (redis: Redis, channel: string) => Promise<Unsubscribe>;
  private subscriber: ChannelSubscriber | undefined;

  constructor(
    prefix: string,
    private readonly terms: RedissonTerms,
  ) {
    const { tokens, inCluster } = terms;
    const listensFor = (name: string): boolean => this.subscriber?.listensFor(name) ?? false;
    this.keys = redissonKeySpace(prefix, tokens, inCluster ? 'SPUBLISH' : 'PUBLISH', listensFor);
    this.subscribe = inCluster ? listenBothWays : listenPlainly;
  }

  readonly mismatch: RedisDialect['mismatch'] = (name, held) =>
    held === 'fair' ? redissonRefusals.fairLock(name) : redissonRefusals.readWriteLock(name);

  readonly listener: RedisDialect['listener'] = (connect, _clientId, _patience, events) => {
    const { isWanted, woken: received, commandTimeout } = this.terms;
    const channels = { of: this.keys.channelOf, subscribe: this.subscribe, idle: longestIdle, isWanted, received };
    return (this.subscriber = new ChannelSubscriber(connect, channels, commandTimeout, events));
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
