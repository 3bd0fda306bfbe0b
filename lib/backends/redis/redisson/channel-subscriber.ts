import type { Redis } from 'ioredis';
import type { CommandConnection } from '../command-connection.js';
import { answerInTime, endConnection, openConnection } from '../redis-connection.js';
import { isRefused } from '../redis-errors.js';
import type { Listener, ListenerEvents } from '../subscriber.js';

/** The subscription to the channel of a lock. */
interface Subscription {
  /** When it was made; undefined while there is none. */
  subscribedAt: number | undefined;
  /** When it was lost, or first wanted. */
  missingSince: number;
}

/** Pause (ms) before a subscription that the server does not count is made again. */
const againPause = 1000;
/** Others take a listener for a waiter: a subscription outlives its last waiter by so long (ms) at most, for a lock that is taken often. */
const longestIdle = 2000;

/**
 * The connection for releases: the channel of each lock with waiters here, and no connection without waiters. No guarantee depends on it:
 * the next poll finds what it misses.
 */
export class ChannelSubscriber implements Listener {
  private redis: Redis | undefined;
  private readonly subscriptions = new Map<string, Subscription>();
  private sweeper: NodeJS.Timeout | undefined;
  /** Channels without a waiter at the last sweep. */
  private idle = new Set<string>();
  private checking = false;
  private closed = false;
  private ending: Promise<void> | undefined;

  /**
   * @param channelOf the channel of a name
   * @param isWanted true while a claim waits at this channel
   * @param woken a message came on this channel
   */
  constructor(
    private readonly connect: () => Redis,
    private readonly channelOf: (name: string) => string,
    private readonly commandTimeout: number,
    private readonly isWanted: (channel: string) => boolean,
    private readonly woken: (channel: string) => void,
    private readonly events: ListenerEvents,
  ) {}

  listen(name: string): void {
    if (this.closed) return;
    const channel = this.channelOf(name);
    const now = performance.now();
    this.idle.delete(channel);
    if (this.subscriptions.has(channel)) return;
    this.subscriptions.set(channel, { subscribedAt: undefined, missingSince: now });
    if (this.redis) void this.subscribe(channel);
    else this.open();
  }

  /** True while releases of this lock are heard. */
  listensFor(name: string): boolean {
    return this.subscriptions.size > 0 && this.subscriptions.get(this.channelOf(name))?.subscribedAt !== undefined;
  }

  async check(): Promise<void> {
    const { redis } = this;
    if (redis?.status !== 'ready' || this.checking) return;
    this.checking = true;
    await answerInTime(redis, redis.ping(), this.commandTimeout).catch(() => undefined);
    this.checking = false;
  }

  missed(askedAt: number, name: string): void {
    const channel = this.channelOf(name);
    const subscription = this.subscriptions.get(channel);
    if (subscription?.subscribedAt === undefined || subscription.subscribedAt > askedAt) return;
    if (performance.now() - subscription.subscribedAt < againPause) return;
    lose(subscription);
    void this.subscribe(channel);
  }

  get isPolling(): boolean {
    const before = performance.now() - this.commandTimeout;
    return [...this.subscriptions.values()].some(
      ({ subscribedAt, missingSince }) => subscribedAt === undefined && missingSince < before,
    );
  }

  isBeside(commands: CommandConnection): boolean {
    return this.redis !== undefined && commands.isBeside(this.redis);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.hangUp();
    await this.ending;
  }

  private open(): void {
    const redis = (this.redis = this.connect());
    redis.on('ready', () => {
      for (const channel of this.subscriptions.keys()) void this.subscribe(channel);
    });
    redis.on('close', () => {
      if (this.redis === redis) for (const subscription of this.subscriptions.values()) lose(subscription);
    });
    redis.on('message', (channel: string) => this.woken(channel));
    // The command connection reports the errors: it is connected to the same server.
    redis.on('error', () => undefined);
    openConnection(redis).catch(() => undefined);
    this.sweeper = setInterval(() => this.sweep(), longestIdle / 2).unref();
  }

  private hangUp(): void {
    clearInterval(this.sweeper);
    const { redis } = this;
    this.redis = undefined;
    if (redis) this.ending = endConnection(redis);
  }

  private async subscribe(channel: string): Promise<void> {
    const { redis } = this;
    if (redis?.status !== 'ready') return;
    try {
      await answerInTime(redis, redis.subscribe(channel), this.commandTimeout);
    } catch (error) {
      // The waiters poll. A lost connection is replaced; a missing permission needs an operator.
      if (redis === this.redis && isRefused(error)) this.events.refused(error);
      return;
    }
    const subscription = this.subscriptions.get(channel);
    if (!subscription || redis !== this.redis) return;
    subscription.subscribedAt = performance.now();
    this.events.subscribed((name) => this.channelOf(name) === channel);
  }

  /** Unsubscribes from locks without waiters. */
  private sweep(): void {
    const { redis, idle } = this;
    this.idle = new Set([...this.subscriptions.keys()].filter((channel) => !this.isWanted(channel)));
    for (const [channel, { subscribedAt }] of this.subscriptions) {
      if (!idle.has(channel) || !this.idle.delete(channel)) continue;
      this.subscriptions.delete(channel);
      if (subscribedAt !== undefined && redis?.status === 'ready') redis.unsubscribe(channel).catch(() => undefined);
    }
    if (this.subscriptions.size === 0) this.hangUp();
  }
}

function lose(subscription: Subscription): void {
  if (subscription.subscribedAt !== undefined) subscription.missingSince = performance.now();
  subscription.subscribedAt = undefined;
}
