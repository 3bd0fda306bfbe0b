import type { Redis } from 'ioredis';
import type { LockLog } from '../../core/lock-log.js';
import { redisLines, redisReasons, redisRefusals } from './redis.messages.js';
import { AnswerWatch } from './answer-watch.js';
import { addressOf, breakConnection, endConnection, samePeer, streamOf } from './redis-connection.js';
import { isReadOnly, isRefused, toLockError } from './redis-errors.js';
import { type ScriptName, callScript } from './script-command.js';
import { scripts } from './scripts.generated.js';
import { ServerClock } from './server-clock.js';

/** How long (ms) an application waits for its first connection as it starts. */
const longestStart = 2000;
/** Pause (ms) before a server that refused what locks need is asked again. */
const refusedPause = 5000;

/**
 * The one connection on which scripts run. It is usable once the scripts are loaded and the server's clock was read.
 * A command that is not answered in time means that the connection is worth nothing (half-open, or a server that hangs): it is
 * torn down, everything under way is rejected, and a new one is made.
 */
export class CommandConnection {
  readonly address: string;
  readonly serverClock = new ServerClock();
  usable = false;
  /** Local ms at which the server was started, at the latest; only known of a node that is asked for it. */
  upSince: number | undefined;

  private readonly answers: AnswerWatch;
  private closed = false;
  private lastError: unknown;
  private silentSince: number | undefined;
  private usableSince = 0;
  private stopPause: NodeJS.Timeout | undefined;
  /** Whether the log says that Redis is away. */
  private told = false;
  private loading: Promise<unknown> | undefined;
  private waiters: Array<() => void> = [];

  constructor(
    private readonly redis: Redis,
    readonly commandTimeout: number,
    private readonly log: LockLog,
    private readonly onUsable: () => void,
    private readonly node?: { readonly uptime: boolean },
    private readonly shard?: { wentDown(): void },
  ) {
    this.address = addressOf(redis);
    this.answers = new AnswerWatch(commandTimeout, () => {
      this.lastError = redisReasons.noAnswer(commandTimeout);
      this.reset();
    });
    redis.on('error', (error) => {
      // What a sentinel said before tells more than that none of them helped.
      if (!(this.lastError && error.message.startsWith('All sentinels'))) this.lastError = error;
    });
    redis.on('sentinelError', (error: Error) => (this.lastError = error));
    redis.on('ready', () => void this.setUp());
    redis.on('close', () => {
      this.wentDown();
    });
  }

  /** Rejects when the first attempt fails, or takes long; ioredis goes on trying. */
  async start(): Promise<void> {
    this.silentSince = performance.now();
    const attempt = this.redis.connect();
    attempt.catch(() => undefined);
    let stop: NodeJS.Timeout | undefined;
    // An address that swallows packets would keep the application from starting for ioredis' whole connectTimeout.
    const tooLong = new Promise<never>((_, reject) => {
      // An application that starts is busy: what has arrived meanwhile is read first.
      stop = setTimeout(
        () => setImmediate(() => setImmediate(() => reject(redisReasons.noConnection(longestStart)))),
        longestStart,
      );
    });
    try {
      await Promise.race([attempt, tooLong]);
      await this.whenUsable(performance.now() + this.commandTimeout);
    } catch (error) {
      throw toLockError(this.lastError ?? error, this.address);
    } finally {
      clearTimeout(stop);
    }
  }

  /**
   * Settles when commands can be sent. Rejects at `deadline`, and at once when the connection has been down for longer than a
   * command may take: an outage is told fast, a blip is ridden out.
   */
  async whenUsable(deadline: number): Promise<void> {
    const end = Math.min(deadline, (this.silentSince ?? performance.now()) + this.commandTimeout);
    const rest = end - performance.now();
    if (!this.usable && !this.closed && rest > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, rest);
        this.waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    if (!this.usable) {
      // Whoever asks again and again in a loop must leave the event loop a turn, or the connection never comes back.
      await new Promise(setImmediate);
      const why = this.lastError instanceof Error ? ` (${this.lastError.message})` : '';
      throw redisRefusals.notConnected(this.address, why);
    }
  }

  /**
   * Runs a script; rejects with whatever ioredis rejects with.
   * @param args keys, then arguments
   */
  run(name: ScriptName, keyCount: number, args: Array<string | number>): Promise<unknown> {
    this.answers.begin();
    return callScript(this.redis, name, keyCount, args).then(this.answered, this.failed);
  }

  /** One packet for everything that `send` sends. */
  together(send: () => void): void {
    const stream = streamOf(this.redis);
    stream?.cork();
    send();
    stream?.uncork();
  }

  /** One step over the keys of the server. */
  scan(cursor: string, pattern: string, count: number): Promise<[next: string, keys: string[]]> {
    this.answers.begin();
    return this.redis.scan(cursor, 'MATCH', pattern, 'COUNT', count).then(this.answered, this.failed) as Promise<
      [string, string[]]
    >;
  }

  /** What the server says of itself. Not watched: nothing depends on the answer. */
  info(): Promise<string> {
    return this.redis.info();
  }

  /** Which node of the cluster serves which slots, as this one knows it: CLUSTER SLOTS. */
  slots(): Promise<unknown> {
    this.answers.begin();
    return this.redis.cluster('SLOTS').then(this.answered, this.failed);
  }

  /** How many replicas have what was sent on this connection: answered when `count` have, or after `timeout` ms. */
  copies(count: number, timeout: number): Promise<number> {
    this.answers.begin();
    return this.redis.wait(count, timeout).then(this.answered, this.failed) as Promise<number>;
  }

  /** Gives the server the scripts again: SCRIPT FLUSH, or a server that was restarted behind a proxy. */
  async loadScripts(): Promise<void> {
    this.loading ??= Promise.all(Object.values(scripts).map(({ source }) => this.redis.script('LOAD', source))).finally(
      () => (this.loading = undefined),
    );
    await this.loading;
  }

  /** The latest server time (µs) at which a command that is sent now may still be executed. */
  latestUseful(now: number): number {
    return this.serverClock.latest(now + this.commandTimeout) ?? 0;
  }

  /** Leaves a server that cannot write, whatever it said that to: another one may by now be behind the same name. */
  lookAt(error: unknown): void {
    // Once a while: where there is no other one, each new connection would be told in the log.
    if (!isReadOnly(error) || performance.now() < this.usableSince + this.commandTimeout) return;
    this.lastError = error;
    this.reset();
  }

  /** Whether another connection leads to the same server. */
  isBeside(other: Redis): boolean {
    return samePeer(this.redis, other);
  }

  /** Ends the connection for good; settles when it is closed. */
  async close(): Promise<void> {
    this.closed = true;
    this.wentDown();
    await endConnection(this.redis);
  }

  private async setUp(): Promise<void> {
    this.serverClock.forget();
    const sentAt = performance.now();
    this.answers.begin();
    try {
      const [time] = await Promise.all([
        this.redis.time() as unknown as Promise<Array<string | number>>,
        this.loadScripts(),
        this.node?.uptime && this.askUptime(),
      ]);
      this.serverClock.observe(Number(time[0]) * 1e6 + Number(time[1]), sentAt);
    } catch (error) {
      this.lastError = error;
      if (!isRefused(error)) return this.reset();
      // Somebody has to change the permissions: say so once, and look again now and then.
      if (!this.told && !this.closed) this.log.error(toLockError(error, this.address).message);
      this.told = true;
      this.stopPause = setTimeout(() => this.reset(), refusedPause).unref();
      return this.wakeWaiters();
    } finally {
      this.answers.end();
    }
    if (this.closed) return;
    if (this.told) this.log.log(this.lines.back(this.address));
    this.told = false;
    this.usable = true;
    this.usableSince = performance.now();
    this.lastError = undefined;
    this.silentSince = undefined;
    this.wakeWaiters();
    this.onUsable();
  }

  /** What it granted before its start it may have forgotten. The server subtracts whole seconds: up to one too many. */
  private async askUptime(): Promise<void> {
    const info = await this.redis.info('server');
    const seconds = Number(/^uptime_in_seconds:(\d+)/m.exec(info)?.[1] ?? 0);
    this.upSince = performance.now() - Math.max(0, seconds - 1) * 1000;
  }

  private wentDown(): void {
    clearTimeout(this.stopPause);
    this.usable = false;
    this.silentSince ??= performance.now();
    if (this.closed) return this.wakeWaiters();
    this.shard?.wentDown();
    if (!this.told) {
      this.told = true;
      const why = this.lastError instanceof Error ? ` (${this.lastError.message})` : '';
      this.log.warn(this.lines.away(this.address, why));
    }
  }

  private get lines(): Pick<typeof redisLines, 'away' | 'back'> {
    const { shardAway, shardBack, nodeAway, nodeBack } = redisLines;
    if (this.shard) return { away: shardAway, back: shardBack };
    return this.node ? { away: nodeAway, back: nodeBack } : redisLines;
  }

  private wakeWaiters(): void {
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  /** Tears the connection down; everything under way rejects, and ioredis makes a new one. */
  private reset(): void {
    if (this.closed) return;
    // From this moment on: what is asked before the socket's end is noticed shall wait for the next one.
    this.wentDown();
    breakConnection(this.redis);
  }

  private readonly answered = (reply: unknown): unknown => {
    this.answers.end();
    return reply;
  };

  private readonly failed = (error: unknown): never => {
    this.answers.end();
    this.lookAt(error);
    throw error;
  };
}
