import type { Redis } from 'ioredis';
import type { CommandConnection } from '../command-connection.js';
import { answerInTime, endConnection, openConnection } from '../redis-connection.js';
import { isRefused } from '../redis-errors.js';
import type { Listener, ListenerEvents } from '../subscriber.js';
import type { ClusterKeySpace } from './cluster-keys.js';

/** The subscription for one slot. */
interface SlotSubscription {
  readonly slot: number;
  readonly channel: string;
  /** When a waiter in the slot was last known. */
  wantedAt: number;
  /** When it was made; undefined while there is none. */
  subscribedAt: number | undefined;
  /** When it was lost, or first wanted. */
  missingSince: number;
  underWay: boolean;
  leave: (() => Promise<unknown>) | undefined;
}

/**
 * Subscribes to a channel of a slot: by sharded messages where the server and the ACL have them, else with SUBSCRIBE at the same server.
 * Resolves to a function that unsubscribes.
 */
export async function listenOn(redis: Redis, channel: string): Promise<() => Promise<unknown>> {
  try {
    await redis.ssubscribe(channel);
    return () => redis.sunsubscribe(channel);
  } catch (error) {
    if (!isRefused(error) && !/unknown command/i.test((error as Error).message)) throw error;
    await redis.subscribe(channel);
    return () => redis.unsubscribe(channel);
  }
}

/** Pause (ms) before a subscription that the server does not count is made again. */
const againPause = 1000;

/**
 * The connection for grants of one node of a cluster: a channel for each slot with waiters, and no connection without waiters. No guarantee
 * depends on it: the next poll finds what it misses.
 */
export class ShardSubscriber implements Listener {
  private redis: Redis | undefined;
  private readonly subscriptions = new Map<number, SlotSubscription>();
  /** Slots whose waiters should ask again at the end of this turn. */
  private readonly news = new Set<number>();
  private sweeper: NodeJS.Timeout | undefined;
  private checking = false;
  private closed = false;
  private ending: Promise<void> | undefined;

  /** @param patience ms after which a slot without known waiters has none */
  constructor(
    private readonly connect: () => Redis,
    private readonly keys: ClusterKeySpace,
    private readonly clientId: string,
    private readonly commandTimeout: number,
    private readonly patience: number,
    private readonly events: ListenerEvents,
  ) {}

  listen(name: string): void {
    if (this.closed) return;
    const slot = this.keys.slotOf(name);
    const known = this.subscriptions.get(slot);
    if (known) {
      known.wantedAt = performance.now();
      return;
    }
    const channel = this.keys.channelsOf(slot) + this.clientId;
    const subscription: SlotSubscription = {
      slot,
      channel,
      wantedAt: performance.now(),
      subscribedAt: undefined,
      missingSince: performance.now(),
      underWay: false,
      leave: undefined,
    };
    this.subscriptions.set(slot, subscription);
    if (this.redis) void this.subscribe(subscription);
    else this.open();
  }

  async check(): Promise<void> {
    const { redis } = this;
    if (redis?.status !== 'ready' || this.checking) return;
    this.checking = true;
    await answerInTime(redis, redis.ping(), this.commandTimeout).catch(() => undefined);
    this.checking = false;
  }

  missed(askedAt: number, name: string): void {
    const subscription = this.subscriptions.get(this.keys.slotOf(name));
    if (subscription?.subscribedAt === undefined || subscription.subscribedAt > askedAt) return;
    if (performance.now() - subscription.subscribedAt < againPause) return;
    lose(subscription);
    void this.subscribe(subscription);
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
      redis.on(event, (_channel: string, message: string) => this.events.message(message));
    }
    // A slot that moves to another node ends its subscriptions: ioredis 6 emits 'moved', 5 reports a message that it cannot parse.
    redis.on('moved', () => this.dropped());
    redis.on('error', (error) => {
      // The command connection reports other errors, from the same server.
      if (error.message.includes('sunsubscribe')) this.dropped();
    });
    openConnection(redis).catch(() => undefined);
    this.sweeper = setInterval(() => this.sweep(), this.patience / 2).unref();
  }

  private hangUp(): void {
    clearInterval(this.sweeper);
    const { redis } = this;
    this.redis = undefined;
    if (redis) this.ending = endConnection(redis);
  }

  private async subscribe(subscription: SlotSubscription): Promise<void> {
    const { redis } = this;
    if (subscription.underWay || redis?.status !== 'ready') return;
    subscription.underWay = true;
    try {
      subscription.leave = await answerInTime(redis, listenOn(redis, subscription.channel), this.commandTimeout);
      if (redis !== this.redis) return;
      subscription.subscribedAt = performance.now();
      this.tell(subscription.slot);
    } catch (error) {
      if (redis !== this.redis) return;
      if (isRefused(error)) this.events.refused(error);
      else if ((error as Error).message.startsWith('MOVED')) {
        // The waiters there find out where the slot is.
        this.subscriptions.delete(subscription.slot);
        this.tell(subscription.slot);
      }
      // A lost connection is replaced, and the waiters poll.
    } finally {
      subscription.underWay = false;
    }
  }

  /** The server has ended a subscription. The replies to the waiters' requests show which one. */
  private dropped(): void {
    for (const slot of this.subscriptions.keys()) this.tell(slot);
  }

  private tell(slot: number): void {
    this.news.add(slot);
    if (this.news.size > 1) return;
    setImmediate(() => {
      const slots = new Set(this.news);
      this.news.clear();
      if (!this.closed) this.events.subscribed((name) => slots.has(this.keys.slotOf(name)));
    });
  }

  /** Unsubscribes from slots without waiters: a waiter asks now and then. */
  private sweep(): void {
    const { redis } = this;
    const before = performance.now() - this.patience;
    for (const subscription of this.subscriptions.values()) {
      if (subscription.wantedAt >= before) continue;
      this.subscriptions.delete(subscription.slot);
      if (subscription.subscribedAt === undefined || redis?.status !== 'ready') continue;
      // The slot may belong to another node now.
      subscription.leave?.().catch(() => undefined);
    }
    if (this.subscriptions.size === 0) this.hangUp();
  }
}

function lose(subscription: SlotSubscription): void {
  if (subscription.subscribedAt !== undefined) subscription.missingSince = performance.now();
  subscription.subscribedAt = undefined;
}
