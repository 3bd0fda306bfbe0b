import type { Redis } from 'ioredis';
import type { CommandConnection } from './command-connection.js';
import { answerInTime, endConnection, openConnection } from './redis-connection.js';
import { isRefused } from './redis-errors.js';
import { againPause, type Listener, type ListenerEvents } from './subscriber.js';

/** The channels of locks, and how a client listens to them. */
export interface ChannelTerms {
  /** The channel for a lock. */
  of(name: string): string;
  /** Subscribes. Resolves to a function that unsubscribes. */
  subscribe(redis: Redis, channel: string): Promise<Unsubscribe>;
  /** A subscription ends so long (ms) after its last known waiter. */
  readonly idle: number;
  /** True while a claim waits. @default `listen` is called for each waiter now and then */
  isWanted?(channel: string): boolean;
  received(channel: string, message: string): void;
}

export type Unsubscribe = () => Promise<unknown>;

/** The subscription to one channel. */
interface Subscription {
  readonly channel: string;
  /** When a waiter was last known. */
  wantedAt: number;
  /** When it was made; undefined while there is none. */
  subscribedAt: number | undefined;
  /** When it was lost, or first wanted. */
  missingSince: number;
  underWay: boolean;
  /** When the user was refused it last. */
  refusedAt: number | undefined;
  leave: Unsubscribe | undefined;
}

/**
 * The connection for messages about locks that have their own channels, or one for each slot: the channels with waiters, and no connection
 * without waiters. No guarantee depends on it: the next poll finds what it misses.
 */
export class ChannelSubscriber implements Listener {
  private redis: Redis | undefined;
  private readonly subscriptions = new Map<string, Subscription>();
  /** Channels whose waiters should ask again at the end of this turn. */
  private readonly news = new Set<string>();
  private sweeper: NodeJS.Timeout | undefined;
  private checking = false;
  private wasRefused = false;
  private closed = false;
  private ending: Promise<void> | undefined;

  constructor(
    private readonly connect: () => Redis,
    private readonly channels: ChannelTerms,
    private readonly commandTimeout: number,
    private readonly events: ListenerEvents,
  ) {}

  listen(name: string): void {
    if (this.closed) return;
    const channel = this.channels.of(name);
    const now = performance.now();
    const known = this.subscriptions.get(channel);
    if (known) {
      known.wantedAt = now;
      return;
    }
    const subscription: Subscription = {
      channel,
      wantedAt: now,
      subscribedAt: undefined,
      missingSince: now,
      underWay: false,
      refusedAt: undefined,
      leave: undefined,
    };
    this.subscriptions.set(channel, subscription);
    if (this.redis) void this.subscribe(subscription);
    else this.open();
  }

  /** True while messages about this lock arrive. */
  listensFor(name: string): boolean {
    return this.subscriptions.size > 0 && this.subscriptions.get(this.channels.of(name))?.subscribedAt !== undefined;
  }

  async check(): Promise<void> {
    const { redis } = this;
    if (redis?.status !== 'ready' || this.checking) return;
    this.checking = true;
    await answerInTime(redis, redis.ping(), this.commandTimeout).catch(() => undefined);
    this.checking = false;
  }

  missed(askedAt: number, name: string): void {
    const subscription = this.subscriptions.get(this.channels.of(name));
    const madeAt = subscription?.subscribedAt ?? subscription?.refusedAt;
    if (madeAt === undefined || madeAt > askedAt || performance.now() - madeAt < againPause) return;
    lose(subscription!);
    void this.subscribe(subscription!);
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
      for (const subscription of this.subscriptions.values()) void this.subscribe(subscription);
    });
    redis.on('close', () => {
      if (this.redis === redis) for (const subscription of this.subscriptions.values()) lose(subscription);
    });
    for (const event of ['smessage', 'message'] as const) {
      redis.on(event, (channel: string, message: string) => this.channels.received(channel, message));
    }
    // A slot that moves to another node ends its subscriptions: ioredis 6 emits 'moved', 5 reports a message that it cannot parse.
    redis.on('moved', () => this.dropped());
    redis.on('error', (error) => {
      // The command connection reports other errors, from the same server.
      if (error.message.includes('sunsubscribe')) this.dropped();
    });
    openConnection(redis).catch(() => undefined);
    this.sweeper = setInterval(() => this.sweep(), this.channels.idle / 2).unref();
  }

  private hangUp(): void {
    clearInterval(this.sweeper);
    const { redis } = this;
    this.redis = undefined;
    if (redis) this.ending = endConnection(redis);
  }

  private async subscribe(subscription: Subscription): Promise<void> {
    const { redis } = this;
    if (subscription.underWay || redis?.status !== 'ready') return;
    subscription.underWay = true;
    const { channel } = subscription;
    try {
      const leave = await answerInTime(redis, this.channels.subscribe(redis, channel), this.commandTimeout);
      if (redis !== this.redis) return;
      // It was given up while it was made. Others would take it for a waiter.
      if (!this.subscriptions.has(channel)) return void leave().catch(() => undefined);
      this.wasRefused = false;
      subscription.leave = leave;
      subscription.subscribedAt = performance.now();
      subscription.refusedAt = undefined;
      this.tell(channel);
    } catch (error) {
      if (redis !== this.redis) return;
      if (isRefused(error)) {
        subscription.refusedAt = performance.now();
        if (!this.wasRefused) this.events.refused(error);
        this.wasRefused = true;
      } else if ((error as Error).message.startsWith('MOVED')) {
        // The waiters there find out where the slot is.
        this.subscriptions.delete(channel);
        this.tell(channel);
      }
      // A lost connection is replaced, and the waiters poll.
    } finally {
      subscription.underWay = false;
    }
  }

  /** The server has ended a subscription. The replies to the waiters' requests show which one. */
  private dropped(): void {
    for (const channel of this.subscriptions.keys()) this.tell(channel);
  }

  private tell(channel: string): void {
    this.news.add(channel);
    if (this.news.size > 1) return;
    setImmediate(() => {
      const channels = new Set(this.news);
      this.news.clear();
      if (!this.closed) this.events.subscribed((name) => channels.has(this.channels.of(name)));
    });
  }

  /** Unsubscribes from channels without waiters. */
  private sweep(): void {
    const { redis } = this;
    const now = performance.now();
    for (const subscription of this.subscriptions.values()) {
      const { channel, subscribedAt, leave } = subscription;
      if (this.channels.isWanted?.(channel)) subscription.wantedAt = now;
      if (subscription.wantedAt > now - this.channels.idle) continue;
      this.subscriptions.delete(channel);
      if (subscribedAt === undefined || redis?.status !== 'ready') continue;
      // The slot may belong to another node now.
      leave?.().catch(() => undefined);
    }
    if (this.subscriptions.size === 0) this.hangUp();
  }
}

function lose(subscription: Subscription): void {
  if (subscription.subscribedAt !== undefined) subscription.missingSince = performance.now();
  subscription.subscribedAt = undefined;
}
