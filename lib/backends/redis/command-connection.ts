import type { Redis } from 'ioredis';
import type { LockLog } from '../../core/lock-log.js';
import { inRoot } from '../../core/root-context.js';
import { redisLines, redisReasons, redisRefusals } from './redis.messages.js';
import { ReplyWatch } from './reply-watch.js';
import { addressOf, breakConnection, endConnection, openConnection, samePeer, streamOf } from './redis-connection.js';
import { isReadOnly, isRefused, reasonOf, toLockError, toStartError } from './redis-errors.js';
import { decodeCopies, decodeTime, UnexpectedReply } from './replies.js';
import { type ScriptName, type ScriptSet, callScript } from './script-command.js';
import { scripts as native } from './scripts.generated.js';
import { ServerClock } from './server-clock.js';

/** How long (ms) an application waits for its first connection as it starts. */
const longestStart = 2000;
/** True for the reply to the SELECT of a new connection. */
const isOfSelect = (error: Error): boolean =>
  (error as Partial<Record<'command', { readonly name?: string }>>).command?.name === 'select';
/** The reason when nothing else is known. */
const closed = redisReasons.closed();
/** Pause (ms) before another try at a server that refused what locks need. */
const refusedPause = 5000;

interface CommandSettings {
  /** ms */
  readonly commandTimeout: number;
  readonly log: LockLog;
  onUsable(): void;
  /** Set for a node of a quorum. */
  readonly node?: { readonly uptime: boolean } | undefined;
  /** Set for a node of a cluster. */
  readonly wentDown?: (() => void) | undefined;
  /** @default the library's own */
  readonly scripts?: ScriptSet | undefined;
  /** Why this server, where no option names it. */
  readonly byDefault?: { readonly why: string } | undefined;
}

/**
 * The one connection for scripts. It is usable once the scripts are loaded and the server's clock was read.
 * A command without a reply in time means that the connection is useless (half-open, or a server that hangs): it is closed, all its
 * commands reject, and a new one is made.
 */
export class CommandConnection {
  readonly address: string;
  readonly commandTimeout: number;
  readonly serverClock = new ServerClock();
  usable = false;
  /** Local ms at which the server was started, at the latest; only read for a quorum node. */
  upSince: number | undefined;
  /** For a quorum node: the server process, the same for all its addresses; undefined when the server does not send it. */
  serverId: string | undefined;

  private readonly scripts: ScriptSet;
  private readonly replies: ReplyWatch;
  private closed = false;
  private lastError: unknown;
  /** Why the connection is in the database 0 instead of its own: ioredis goes on there. */
  private otherDatabase: Error | undefined;
  private silentSince: number | undefined;
  private usableSince = 0;
  private stopPause: NodeJS.Timeout | undefined;
  /** True when the log has reported that Redis is unavailable. */
  private told = false;
  /** True while `start` reports to its caller, who writes the log. A node of several logs by itself. */
  private starting = false;
  private loading: Promise<unknown> | undefined;
  private waiters: Array<() => void> = [];

  constructor(
    private readonly redis: Redis,
    private readonly settings: CommandSettings,
  ) {
    const { commandTimeout, scripts = native, byDefault } = settings;
    this.commandTimeout = commandTimeout;
    this.scripts = scripts;
    this.address = addressOf(redis) + (byDefault ? ` (${byDefault.why})` : '');
    this.replies = new ReplyWatch(commandTimeout, () => {
      this.lastError = redisReasons.noAnswer(commandTimeout);
      this.reset();
    });
    redis.on('error', (error) => {
      // The last error of a sentinel says more than that none of them helped.
      const knowsMore = this.lastError !== undefined && this.lastError !== closed;
      if (!(knowsMore && error.message.startsWith('All sentinels'))) this.lastError = error;
      if (isOfSelect(error)) this.otherDatabase = error;
    });
    redis.on('connect', () => (this.otherDatabase = undefined));
    redis.on('sentinelError', (error: Error) => (this.lastError = error));
    redis.on('ready', () => void this.setUp());
    redis.on('close', () => {
      this.lastError ??= closed;
      this.wentDown();
    });
  }

  /** Rejects when the first attempt fails, or takes long; ioredis keeps trying. */
  async start(): Promise<void> {
    this.silentSince = performance.now();
    this.starting = !this.settings.node && !this.settings.wentDown;
    const attempt = openConnection(this.redis);
    attempt.catch(() => undefined);
    let stop: NodeJS.Timeout | undefined;
    // An address that drops packets would delay the application by ioredis' whole connectTimeout.
    const tooLong = new Promise<never>((_, reject) => {
      // An application that starts is busy: first read what has arrived, then judge.
      stop = setTimeout(
        () =>
          setImmediate(() =>
            setImmediate(() => reject(redisReasons.noConnection(longestStart, Boolean(this.redis.options.tls)))),
          ),
        longestStart,
      );
    });
    try {
      await Promise.race([attempt, tooLong]);
      await this.whenUsable(performance.now() + this.commandTimeout);
    } catch (error) {
      this.lastError ??= error;
      this.told ||= this.starting;
      throw toStartError(this.lastError, this.address);
    } finally {
      clearTimeout(stop);
      this.starting = false;
    }
  }

  /**
   * Settles when commands can be sent. Rejects at `deadline`, and at once when the connection has been down for longer than a command may
   * take: an outage is reported fast, a short one is waited out.
   * @param key for the message
   */
  async whenUsable(deadline: number, key?: string): Promise<void> {
    const end = Math.min(deadline, (this.silentSince ?? performance.now()) + this.commandTimeout);
    const rest = end - performance.now();
    // A server that has just refused is not asked again so soon.
    if (!this.usable && !this.closed && !this.stopPause && rest > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, rest);
        this.waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    if (!this.usable) {
      // A caller that asks in a loop must leave the event loop a turn, or the connection never comes back.
      await new Promise(setImmediate);
      throw redisRefusals.notConnected(key, this.address, this.why);
    }
  }

  /**
   * Runs a script; rejects with errors of ioredis.
   * @param args keys, then arguments
   */
  run(name: ScriptName, keyCount: number, args: Array<string | number>): Promise<unknown> {
    return this.send(() => callScript(this.redis, this.scripts[name]!, keyCount, args));
  }

  /** True when its scripts know locks with several holders. */
  get shares(): boolean {
    return this.scripts.share !== undefined;
  }

  /** One packet for all that `send` sends. */
  together(send: () => void): void {
    const stream = streamOf(this.redis);
    stream?.cork();
    send();
    stream?.uncork();
  }

  /** One SCAN step over the keys of the server. */
  scan(cursor: string, pattern: string, count: number): Promise<unknown> {
    return this.send(() => this.redis.scan(cursor, 'MATCH', pattern, 'COUNT', count));
  }

  /** INFO. Not watched: nothing depends on the reply. */
  info(): Promise<string> {
    return this.redis.info();
  }

  /** The slots of each node of the cluster, as this node knows them: CLUSTER SLOTS. */
  slots(): Promise<unknown> {
    return this.send(() => this.redis.cluster('SLOTS'));
  }

  /** How many replicas have what was sent on this connection: resolves when `count` have, or after `timeout` ms. */
  copies(count: number, timeout: number): Promise<number> {
    return this.send(() => this.redis.wait(count, timeout)).then(decodeCopies);
  }

  /** Loads the scripts again: after SCRIPT FLUSH, or when the server was restarted behind a proxy. */
  async loadScripts(): Promise<void> {
    this.loading ??= inRoot(() =>
      Promise.all(
        Object.values(this.scripts).map(({ source }) => this.send(() => this.redis.script('LOAD', source))),
      ).finally(() => (this.loading = undefined)),
    );
    await this.loading;
  }

  /** The latest server time (µs) at which a command that is sent now may still be executed. */
  latestUseful(now: number): number {
    return this.serverClock.latest(now + this.commandTimeout) ?? 0;
  }

  /**
   * Leaves a server that cannot write: the same name may lead to another server now. Leaves a connection whose replies cannot be decoded:
   * it may be out of step.
   */
  leaveIfUseless(error: unknown): void {
    const isUseless = isReadOnly(error) || error instanceof UnexpectedReply;
    // Not at once: where there is no other server, each new connection would be logged.
    if (!isUseless || performance.now() < this.usableSince + this.commandTimeout) return;
    this.lastError = error;
    this.reset();
  }

  /** True when another connection leads to the same server. */
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
    const { node, log } = this.settings;
    const sentAt = performance.now();
    try {
      if (this.otherDatabase) throw this.noDatabase(this.otherDatabase);
      const [time] = await Promise.all([
        this.send(() => this.redis.time()),
        this.loadScripts(),
        node && this.readServer(node.uptime),
      ]);
      this.serverClock.observe(decodeTime(time), sentAt);
    } catch (error) {
      this.lastError = error;
      if (!isRefused(error)) return this.reset();
      // An operator has to change the permissions: log it once, and try again now and then.
      if (!this.told && !this.closed && !this.starting) log.error(toLockError(error, this.address).message);
      this.told = true;
      this.stopPause = setTimeout(() => this.reset(), refusedPause).unref();
      return this.wakeWaiters();
    }
    if (this.closed) return;
    if (this.told) log.log(this.lines.back(this.address));
    this.told = false;
    this.usable = true;
    this.usableSince = performance.now();
    this.lastError = undefined;
    this.silentSince = undefined;
    this.wakeWaiters();
    this.settings.onUsable();
  }

  private noDatabase(error: Error): Error {
    const answer = reasonOf(error);
    return redisRefusals.noDatabase(this.address, this.redis.options.db, answer, new Error(answer));
  }

  /**
   * Reads the server's identity and start time: it may have forgotten what it granted before its start. The server subtracts whole seconds:
   * up to one too many.
   * @param isNeeded true when locks depend on it
   */
  private async readServer(isNeeded: boolean): Promise<void> {
    const answer = this.send(() => this.redis.info('server'));
    const info = String(isNeeded ? await answer : await answer.catch(() => ''));
    this.serverId = /^run_id:(\w+)/m.exec(info)?.[1];
    const seconds = Number(/^uptime_in_seconds:(\d+)/m.exec(info)?.[1] ?? 0);
    this.upSince = performance.now() - Math.max(0, seconds - 1) * 1000;
  }

  private wentDown(): void {
    clearTimeout(this.stopPause);
    this.stopPause = undefined;
    this.usable = false;
    // The next connection may lead to another server with another clock.
    this.serverClock.forget();
    this.silentSince ??= performance.now();
    if (this.closed) return this.wakeWaiters();
    this.settings.wentDown?.();
    if (this.told || this.starting) return;
    this.told = true;
    this.settings.log.warn(this.lines.away(this.address, this.why));
  }

  private get why(): string {
    return this.lastError === undefined ? '' : ` (${reasonOf(this.lastError)})`;
  }

  private get lines(): Pick<typeof redisLines, 'away' | 'back'> {
    const { shardAway, shardBack, nodeAway, nodeBack } = redisLines;
    if (this.settings.wentDown) return { away: shardAway, back: shardBack };
    return this.settings.node ? { away: nodeAway, back: nodeBack } : redisLines;
  }

  private wakeWaiters(): void {
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
  }

  /** Closes the connection; all its commands reject, and ioredis makes a new one. */
  private reset(): void {
    if (this.closed) return;
    // At once: commands that are sent before the end of the socket is noticed must wait for the next connection.
    this.wentDown();
    breakConnection(this.redis);
  }

  /** Sends outside of all requests: they share the connection. A command without a reply in time breaks it. */
  private send(command: () => Promise<unknown>): Promise<unknown> {
    return inRoot(() => {
      this.replies.begin();
      return command().then(this.answered, this.failed);
    });
  }

  private readonly answered = (reply: unknown): unknown => {
    this.replies.end();
    return reply;
  };

  private readonly failed = (error: unknown): never => {
    this.replies.end();
    this.leaveIfUseless(error);
    throw error;
  };
}
