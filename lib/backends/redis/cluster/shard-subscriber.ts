import type { Redis } from 'ioredis';
import type { CommandConnection } from '../command-connection.js';
import { answerInTime, endConnection } from '../redis-connection.js';
import { isRefused } from '../redis-errors.js';
import type { Listener, ListenerEvents } from '../subscriber.js';
import type { ClusterKeySpace } from './cluster-keys.js';

/** The subscription for one slot. */
interface Line {
  readonly slot: number;
  readonly channel: string;
  /** When somebody was last known to wait in the slot. */
  wantedAt: number;
  /** When it was made; undefined while there is none. */
  subscribedAt: number | undefined;
  underWay: boolean;
  leave: (() => Promise<unknown>) | undefined;
}

/**
 * Subscribes to a channel of a slot: by sharded messages where the server and the ACL have them, else the old way at the same server.
 * Answers how it ends.
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
 * The connection on which grants of one node of a cluster arrive: a channel for each slot in which somebody waits, and no connection
 * while nobody does. Nothing of the guarantees rests on it: what it misses, the next poll finds.
 */
export class ShardSubscriber implements Listener {
  private redis: Redis | undefined;
  private readonly lines = new Map<number, Line>();
  /** Slots whose waiters shall ask again at the end of this turn. */
  private readonly news = new Set<number>();
  private sweeper: NodeJS.Timeout | undefined;
  private checking = false;
  private closed = false;
  private ending: Promise<void> | undefined;

  /** @param patience ms after which a slot of which no waiter was heard has none */
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
    const known = this.lines.get(slot);
    if (known) {
      known.wantedAt = performance.now();
      return;
    }
    const channel = this.keys.channelsOf(slot) + this.clientId;
    const line: Line = {
      slot,
      channel,
      wantedAt: performance.now(),
      subscribedAt: undefined,
      underWay: false,
      leave: undefined,
    };
    this.lines.set(slot, line);
    if (this.redis) void this.subscribe(line);
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
    const line = this.lines.get(this.keys.slotOf(name));
    if (line?.subscribedAt === undefined || line.subscribedAt > askedAt) return;
    if (performance.now() - line.subscribedAt < againPause) return;
    line.subscribedAt = undefined;
    void this.subscribe(line);
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
      for (const line of this.lines.values()) void this.subscribe(line);
    });
    redis.on('close', () => {
      if (this.redis === redis) for (const line of this.lines.values()) line.subscribedAt = undefined;
    });
    for (const event of ['smessage', 'message'] as const) {
      redis.on(event, (_channel: string, message: string) => this.events.message(message));
    }
    // A slot that goes to another node takes its subscriptions along unasked: ioredis 6 says 'moved', 5 that it does not understand.
    redis.on('moved', () => this.dropped());
    redis.on('error', (error) => {
      // What else goes wrong is reported by the command connection, which sees the same server.
      if (error.message.includes('sunsubscribe')) this.dropped();
    });
    redis.connect().catch(() => undefined);
    this.sweeper = setInterval(() => this.sweep(), this.patience / 2).unref();
  }

  private hangUp(): void {
    clearInterval(this.sweeper);
    const { redis } = this;
    this.redis = undefined;
    if (redis) this.ending = endConnection(redis);
  }

  private async subscribe(line: Line): Promise<void> {
    const { redis } = this;
    if (line.underWay || redis?.status !== 'ready') return;
    line.underWay = true;
    try {
      line.leave = await answerInTime(redis, listenOn(redis, line.channel), this.commandTimeout);
      if (redis !== this.redis) return;
      line.subscribedAt = performance.now();
      this.tell(line.slot);
    } catch (error) {
      if (redis !== this.redis) return;
      if (isRefused(error)) this.events.refused(error);
      else if ((error as Error).message.startsWith('MOVED')) {
        // Whoever waits there finds out where the slot is.
        this.lines.delete(line.slot);
        this.tell(line.slot);
      }
      // A connection that went is made again, and the waiters poll.
    } finally {
      line.underWay = false;
    }
  }

  /** The server has ended some subscription. Which one, the answers to the waiters' questions tell. */
  private dropped(): void {
    for (const slot of this.lines.keys()) this.tell(slot);
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

  /** Gives up the slots where nobody waits any more: whoever waits asks now and then. */
  private sweep(): void {
    const { redis } = this;
    const before = performance.now() - this.patience;
    for (const line of this.lines.values()) {
      if (line.wantedAt >= before) continue;
      this.lines.delete(line.slot);
      if (line.subscribedAt === undefined || redis?.status !== 'ready') continue;
      // The slot may be another node's by now.
      line.leave?.().catch(() => undefined);
    }
    if (this.lines.size === 0) this.hangUp();
  }
}
