import { setTimeout as sleep } from 'node:timers/promises';
import { certainUntil } from '../../core/clock.js';
import { type Duration, parseDuration } from '../../core/duration.js';
import type {
  AcquireReply,
  AcquireRequest,
  ClaimRef,
  LockBackend,
  LockBackendEvents,
  ReleaseReply,
  RenewReply,
  RenewRequest,
} from '../../core/lock-backend.js';
import type { LockLog } from '../../core/lock-log.js';
import { LockUnavailableError } from '../../errors/lock-errors.js';
import { CommandConnection } from './command-connection.js';
import { type KeySpace, keySpace } from './keys.js';
import { createConnection, keyPrefixOf, type RedisConnection } from './redis-connection.js';
import { isPassing, toLockError } from './redis-errors.js';
import { type AcquireAnswer, decodeAcquire, decodeGrant, decodeRelease, decodeRenew } from './replies.js';
import { Subscriber } from './subscriber.js';

export interface RedisBackendOptions {
  /** @default 'redis://127.0.0.1:6379' */
  redis?: RedisConnection;
  /** Stands before every key and channel. Who shares it shares the locks. @default 'lock:' */
  keyPrefix?: string;
  /** The longest time for an answer of Redis, in ms; after it the connection counts as broken. Minimum 10. @default '1s' */
  commandTimeout?: Duration;
  /** How often a waiter asks by itself, in case that a message was lost. Minimum 100. @default '5s' */
  poll?: Duration;
  log: LockLog;
}

/** Longest time in ms that a grant lasts for a waiter of which nothing is heard: `window` in scripts/includes/serve.lua. */
const claimWindow = 3000;
/** Holds in one renewal command: the server is busy for well under a millisecond with it. */
const renewalBatch = 500;
/** Pause (ms) before a server that is busy or loading is asked again. */
const passingPause = 100;

const always = (): boolean => true;

/** Locks on one Redis server: the scripts, a connection for them, and one on which grants arrive. */
export class RedisBackend implements LockBackend {
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow = claimWindow;

  private readonly keys: KeySpace;
  private readonly connection: CommandConnection;
  private subscriber: Subscriber | undefined;
  private events: LockBackendEvents | undefined;

  constructor(private readonly options: RedisBackendOptions) {
    const { redis = 'redis://127.0.0.1:6379', keyPrefix = 'lock:', commandTimeout = 1000, poll = 5000 } = options;
    this.commandTimeout = parseDuration('commandTimeout', commandTimeout, { min: 10 });
    this.poll = parseDuration('poll', poll, { min: 100 });
    this.keys = keySpace(keyPrefixOf(redis) + keyPrefix);
    this.connection = new CommandConnection(createConnection(redis), this.commandTimeout, options.log, () => {
      this.events?.recovered();
    });
  }

  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.events = events;
    this.subscriber = new Subscriber(
      createConnection(this.options.redis ?? 'redis://127.0.0.1:6379'),
      this.keys.channels + clientId,
      this.commandTimeout,
      (message) => {
        this.granted(message);
      },
      () => {
        events.recovered();
      },
    );
    await this.connection.start();
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    for (;;) {
      if (!this.connection.usable) {
        await this.connection.whenUsable(request.giveUpAt);
        if (!request.isWanted())
          throw new LockUnavailableError('Given up while Redis was away.', { key: request.name });
      }
      const sentAt = performance.now();
      let answer: AcquireAnswer;
      try {
        answer = decodeAcquire(await this.ask(request, sentAt));
      } catch (error) {
        if (isPassing(error) && request.isWanted() && performance.now() + passingPause < request.giveUpAt) {
          await sleep(passingPause);
          if (request.isWanted()) continue;
        }
        throw toLockError(error, this.connection.address, request.name);
      }
      this.connection.serverClock.observe(answer.now, sentAt);
      switch (answer.status) {
        case 'granted':
          return {
            status: 'granted',
            fencingToken: answer.fencingToken,
            validUntil: certainUntil(sentAt, answer.lease),
            tokensUntil: answer.tokensUntil,
            othersWait: answer.waiters > 0,
          };
        case 'contended':
          return { status: 'contended', rest: answer.rest };
        case 'queued':
          return this.queued(request, sentAt, answer.rest, answer.heard);
        case 'late':
          // The estimate of the server's clock was off, and is right now. Whoever gave up meanwhile must not be served.
          if (request.isWanted() && performance.now() - sentAt < this.commandTimeout) continue;
          throw new LockUnavailableError('Redis was reached too late.', { key: request.name });
      }
    }
  }

  async release({ name, claim }: ClaimRef): Promise<ReleaseReply> {
    if (!this.connection.usable) await this.connection.whenUsable(Number.POSITIVE_INFINITY);
    try {
      const [record, queue, waiters] = this.keys.forLock(name);
      const args = [record, queue, waiters, this.keys.register, claim, this.keys.channels];
      return decodeRelease(await this.connection.run('release', 4, args, always));
    } catch (error) {
      throw toLockError(error, this.connection.address, name);
    }
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    const batches: Array<Promise<RenewReply[]>> = [];
    for (let first = 0; first < holds.length; first += renewalBatch) {
      batches.push(this.renewBatch(holds.slice(first, first + renewalBatch)));
    }
    return (await Promise.all(batches)).flat();
  }

  async close(): Promise<void> {
    await Promise.all([this.subscriber?.close(), this.connection.close()]);
  }

  private ask(request: AcquireRequest, sentAt: number): Promise<unknown> {
    const [record, queue, waiters] = this.keys.forLock(request.name);
    const notAfter = this.connection.serverClock.latest(sentAt + this.commandTimeout)!;
    const patience = request.enqueue ? this.patience : 0;
    return this.connection.run(
      'acquire',
      4,
      [
        record,
        queue,
        waiters,
        this.keys.register,
        request.claim,
        request.lease,
        notAfter,
        request.reserve,
        patience,
        this.keys.channels,
      ],
      () => request.isWanted(),
    );
  }

  /** A waiter that has not asked again for this long (ms) counts as dead. */
  private get patience(): number {
    return 2 * this.poll + this.commandTimeout;
  }

  private queued(request: AcquireRequest, sentAt: number, rest: number, heard: boolean): AcquireReply {
    this.subscriber?.listen();
    if (!heard) this.subscriber?.missed(sentAt);
    else if (request.again) void this.subscriber?.check();
    // Nobody may tell us: when the holder's lease has ended (Redis ends it after its last millisecond), and now and then anyway.
    const pause = Math.min(rest + 2, this.poll, heard ? Number.POSITIVE_INFINITY : claimWindow / 3);
    return { status: 'queued', askAt: performance.now() + pause };
  }

  private async renewBatch(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    if (!this.connection.usable) return holds.map(() => 'unanswered');
    const sentAt = performance.now();
    try {
      const keys: Array<string | number> = [this.keys.register];
      const args: Array<string | number> = [];
      for (const { name, claim, fencingToken, lease, reserve } of holds) {
        keys.push(...this.keys.forLock(name));
        args.push(claim, fencingToken, lease, reserve);
      }
      const answer = decodeRenew(await this.connection.run('renew', keys.length, keys.concat(args), always));
      this.connection.serverClock.observe(answer.now, sentAt);
      return answer.holds.map((hold) => {
        if (hold === 'lost') return hold;
        const [rest, tokensUntil, waiters] = hold;
        return { validUntil: certainUntil(sentAt, rest), tokensUntil, othersWait: waiters > 0 };
      });
    } catch {
      return holds.map(() => 'unanswered');
    }
  }

  private granted(message: string): void {
    const grant = decodeGrant(message);
    if (!grant) return;
    const { claim, fencingToken, tokensUntil, record, now, length } = grant;
    this.events?.granted({
      name: this.keys.nameOf(record),
      claim,
      fencingToken,
      tokensUntil,
      validUntil: this.ageBound(now, length),
    });
  }

  /**
   * A pushed grant answers no request whose sending would bound its age: a process that was paused finds an old message in its
   * socket. Undefined when the bound is missing or stale, lies in the future (another server's clock), or leaves less than half.
   */
  private ageBound(serverTime: number, length: number): number | undefined {
    const { serverClock } = this.connection;
    const now = performance.now();
    const grantedAt = serverClock.earliest(serverTime);
    if (grantedAt === undefined || grantedAt > now || serverClock.age(now) > this.patience) return undefined;
    const validUntil = certainUntil(grantedAt, length);
    return validUntil - now < length / 2 ? undefined : validUntil;
  }
}
