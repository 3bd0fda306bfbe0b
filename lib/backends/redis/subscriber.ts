import type { Redis } from 'ioredis';
import type { CommandConnection } from './command-connection.js';
import { answerInTime, breakConnection, endConnection } from './redis-connection.js';
import { isRefused } from './redis-errors.js';

/** Where grants arrive. */
export interface Listener {
  /** A claim waits for this name: subscribes, now or as soon as it can be. */
  listen(name: string): void;
  /** Whoever polls has not been called: makes sure that the line is not dead, and replaces it when it is. */
  check(): Promise<void>;
  /** The server said, to a question sent at `askedAt`, that nobody listens for this name: a subscription older than that is none. */
  missed(askedAt: number, name: string): void;
  /** Whether messages come from the server that the commands go to. */
  isBeside(commands: CommandConnection): boolean;
  /** Ends the connection for good; settles when it is closed. */
  close(): Promise<void>;
}

/** What a listener tells. */
export interface ListenerEvents {
  message(message: string): void;
  /** A subscription was made: grants from before it may have been missed. @param concerns of these names only. @default of all */
  subscribed(concerns?: (name: string) => boolean): void;
  /** It may not subscribe. */
  refused(error: unknown): void;
}

/**
 * The connection on which grants arrive: one channel per client, from the first wait on. Nothing of the guarantees rests on it:
 * what it misses, the next poll finds.
 */
export class Subscriber implements Listener {
  private started = false;
  /** When the subscription was made; undefined while there is none. */
  private subscribedAt: number | undefined;
  private checking = false;
  private closed = false;

  constructor(
    private readonly redis: Redis,
    private readonly channel: string,
    private readonly commandTimeout: number,
    private readonly events: ListenerEvents,
  ) {
    // Reported by the command connection, which sees the same server.
    redis.on('error', () => undefined);
    redis.on('ready', () => void this.subscribe());
    redis.on('close', () => (this.subscribedAt = undefined));
    redis.on('message', (_channel: string, message: string) => {
      events.message(message);
    });
  }

  listen(): void {
    if (this.started || this.closed) return;
    this.started = true;
    this.redis.connect().catch(() => undefined);
  }

  async check(): Promise<void> {
    if (this.subscribedAt === undefined || this.checking) return;
    this.checking = true;
    await answerInTime(this.redis, this.redis.ping(), this.commandTimeout).catch(() => undefined);
    this.checking = false;
  }

  missed(askedAt: number): void {
    if (this.subscribedAt !== undefined && this.subscribedAt < askedAt) breakConnection(this.redis);
  }

  isBeside(commands: CommandConnection): boolean {
    return commands.isBeside(this.redis);
  }

  async close(): Promise<void> {
    this.closed = true;
    await endConnection(this.redis);
  }

  private async subscribe(): Promise<void> {
    try {
      await answerInTime(this.redis, this.redis.subscribe(this.channel), this.commandTimeout);
    } catch (error) {
      // The waiters poll. A connection that went is made again; a permission has to be given by somebody.
      if (isRefused(error)) this.events.refused(error);
      return;
    }
    if (this.closed) return;
    this.subscribedAt = performance.now();
    this.events.subscribed();
  }
}
