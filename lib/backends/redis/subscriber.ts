import type { Redis } from 'ioredis';
import type { CommandConnection } from './command-connection.js';
import { answerInTime, breakConnection, endConnection, openConnection } from './redis-connection.js';
import { isRefused } from './redis-errors.js';

/** Receives grants. */
export interface Listener {
  /** A claim waits for this name: subscribes, now or as soon as possible. */
  listen(name: string): void;
  /** A waiter polls, so it got no message: checks that the connection is alive, and replaces a dead one. */
  check(): Promise<void>;
  /**
   * The server replied, to a request sent at `askedAt`, that no client listens for this name: an older subscription does not exist any
   * more, and one that was refused may be granted by now.
   */
  missed(askedAt: number, name: string): void;
  /** True when it has wanted a subscription for longer than a command may take, and has none. */
  readonly isPolling: boolean;
  /** True when messages come from the server that gets the commands. */
  isBeside(commands: CommandConnection): boolean;
  /** Ends the connection for good; settles when it is closed. */
  close(): Promise<void>;
}

/** The events of a listener. */
export interface ListenerEvents {
  message(message: string): void;
  /** A subscription was made: earlier grants may have been missed. @param concerns only these names. @default all */
  subscribed(concerns?: (name: string) => boolean): void;
  /** The user may not subscribe: once until it may. */
  refused(error: unknown): void;
}

/** Pause (ms) before a subscription that the server has refused, or does not count, is made again. Waiters that poll ask for it. */
export const againPause = 1000;

/**
 * The connection for grants: one channel per client, from the first wait on. No guarantee depends on it: the next poll finds what it
 * misses.
 */
export class Subscriber implements Listener {
  private started = false;
  /** When the subscription was made; undefined while there is none. */
  private subscribedAt: number | undefined;
  /** Since when there is none although one is wanted. */
  private missingSince = Number.POSITIVE_INFINITY;
  private checking = false;
  /** When the user was refused it last; undefined while it was not. */
  private refusedAt: number | undefined;
  private closed = false;

  constructor(
    private readonly redis: Redis,
    private readonly channel: string,
    private readonly commandTimeout: number,
    private readonly events: ListenerEvents,
  ) {
    // The command connection reports the errors: it is connected to the same server.
    redis.on('error', () => undefined);
    redis.on('ready', () => void this.subscribe());
    redis.on('close', () => {
      if (this.subscribedAt !== undefined) this.missingSince = performance.now();
      this.subscribedAt = undefined;
    });
    redis.on('message', (_channel: string, message: string) => {
      events.message(message);
    });
  }

  listen(): void {
    if (this.started || this.closed) return;
    this.started = true;
    this.missingSince = performance.now();
    openConnection(this.redis).catch(() => undefined);
  }

  async check(): Promise<void> {
    if (this.subscribedAt === undefined || this.checking) return;
    this.checking = true;
    await answerInTime(this.redis, this.redis.ping(), this.commandTimeout).catch(() => undefined);
    this.checking = false;
  }

  missed(askedAt: number): void {
    if (this.subscribedAt !== undefined && this.subscribedAt < askedAt) breakConnection(this.redis);
    if (this.refusedAt === undefined || this.redis.status !== 'ready') return;
    if (this.refusedAt + againPause <= performance.now()) void this.subscribe();
  }

  get isPolling(): boolean {
    return this.subscribedAt === undefined && performance.now() - this.missingSince > this.commandTimeout;
  }

  isBeside(commands: CommandConnection): boolean {
    return commands.isBeside(this.redis);
  }

  async close(): Promise<void> {
    this.closed = true;
    await endConnection(this.redis);
  }

  private async subscribe(): Promise<void> {
    const wasRefused = this.refusedAt !== undefined;
    // Until the reply.
    if (wasRefused) this.refusedAt = performance.now();
    try {
      await answerInTime(this.redis, this.redis.subscribe(this.channel), this.commandTimeout);
    } catch (error) {
      // The waiters poll. A lost connection is replaced; a missing permission needs an operator.
      if (!isRefused(error)) return;
      this.refusedAt = performance.now();
      if (!wasRefused) this.events.refused(error);
      return;
    }
    this.refusedAt = undefined;
    if (this.closed) return;
    this.subscribedAt = performance.now();
    this.events.subscribed();
  }
}
