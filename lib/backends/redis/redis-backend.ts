import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { certainUntil } from '../../core/clock.js';
import { claimWindow, defaults } from '../../core/defaults.js';
import type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
  AdoptReply,
  AdoptRequest,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../core/lock-backend.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import type { LockLog } from '../../core/lock-log.js';
import { refusals } from '../../core/refusals.js';
import type { LockError } from '../../errors/lock-errors.js';
import { adopt } from './adoption.js';
import { CallBatches, late } from './call-batches.js';
import { CommandConnection } from './command-connection.js';
import { examineMessages, examineSettings } from './examination.js';
import { type KeySpace, keySpace } from './keys.js';
import type { RedisConnection } from './given-connection.js';
import { createConnection, endConnection, keyPrefixOf } from './redis-connection.js';
import { rehearse } from './rehearsal.js';
import { redisFindings, redisLines, redisRefusals } from './redis.messages.js';
import { ReplicaConfirmation, type ReplicaTerms, TooFewReplicas, UnconfirmedGrant } from './replica-confirmation.js';
import { isMissingScript, isTransient, toLockError } from './redis-errors.js';
import { RedisViews } from './redis-views.js';
import {
  type DecodedAcquire,
  type GrantMessage,
  decodeAcquire,
  decodeGrant,
  decodeNotice,
  decodeRelease,
  decodeRenew,
  failureIn,
  timedReply,
} from './replies.js';
import type { ScriptSet } from './script-command.js';
import { type Listener, type ListenerEvents, Subscriber } from './subscriber.js';

/** Checked by the module (`resolveModuleOptions`); times in ms. What is left out is the default. */
export interface RedisBackendOptions {
  /** @default 'redis://127.0.0.1:6379' */
  redis?: RedisConnection | undefined;
  /** The beginning of all keys and channels. Clients with the same prefix share their locks. */
  keyPrefix?: string;
  /** The longest time to wait for a reply of Redis; after it the connection counts as broken. */
  commandTimeout?: number;
  /** How often a waiter asks by itself, in case a message was lost. */
  poll?: number;
  /** Locks count only when this many replicas have them. @default none: the master alone decides */
  replicas?: ReplicaTerms | undefined;
  /** Set for a node of a quorum: when it alone is unavailable, locks continue. `uptime`: read when the server was started. */
  node?: { readonly uptime: boolean };
  /** Set when no option names the server. */
  byDefault?: DefaultServer | undefined;
  /** True: it only shows locks, and writes nothing at its start. */
  observes?: boolean;
  log: LockLog;
}

/** Why the locks live on this machine although no option says so. */
export interface DefaultServer {
  readonly why: string;
  /** True where it is a slip, most likely: the log says so at the start. */
  readonly isSlip: boolean;
}

/** How to talk to a server: a node of a cluster, or one whose locks are in Redisson's format. */
export interface RedisDialect {
  readonly keys: KeySpace;
  /** @param patience ms after which a waiter that did not ask again counts as dead. @default one batch for all names */
  readonly calls?: (connection: CommandConnection, patience: number) => CallBatches;
  /** @param connect makes a connection, not opened yet */
  readonly listener: (connect: () => Redis, clientId: string, patience: number, events: ListenerEvents) => Listener;
  /** Subscribes to a channel, as a listener does. */
  readonly subscribe: (redis: Redis, channel: string) => Promise<unknown>;
  /** The error for a name that is used in another way. @default it is of another kind of this library */
  readonly mismatch?: (name: string, held: string) => LockError;
  /** The connection to a node of a cluster is lost: another server may take its place. */
  readonly wentDown?: () => void;
  /** @default the library's own */
  readonly scripts?: ScriptSet;
}

/** Age (ms) up to which a bound of the server's clock is used: its drift in that time is the 1000 ppm that `certainUntil` leaves unused. */
const longestBoundAge = 5000;
/** Pause (ms) before a command to a busy or loading server is repeated. */
export const transientPause = 100;

const plain: Pick<RedisDialect, 'subscribe'> = { subscribe: (redis, channel) => redis.subscribe(channel) };

const defaultRedis = 'redis://127.0.0.1:6379';

/** Locks on one Redis server: a connection for the scripts, and one for the messages about grants. */
export class RedisBackend implements LockBackend {
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow = claimWindow;

  private readonly dialect: RedisDialect | undefined;
  private readonly keys: KeySpace;
  private readonly calls: CallBatches;
  readonly connection: CommandConnection;
  private readonly replicas: ReplicaConfirmation | undefined;
  private readonly views: RedisViews;
  private subscriber: Listener | undefined;
  /** The examination's own connection, while it runs. */
  private examiner: Redis | undefined;
  private events: LockBackendEvents | undefined;

  /** @param dialectOf for the prefix of all keys. @default the library's own */
  constructor(
    private readonly options: RedisBackendOptions,
    dialectOf?: (prefix: string) => RedisDialect,
  ) {
    const { redis = defaultRedis, keyPrefix = defaults.keyPrefix, replicas } = options;
    this.commandTimeout = options.commandTimeout ?? defaults.commandTimeout;
    this.poll = options.poll ?? defaults.poll;
    const prefix = keyPrefixOf(redis) + keyPrefix;
    const dialect = (this.dialect = dialectOf?.(prefix));
    this.keys = dialect?.keys ?? keySpace(prefix);
    this.connection = new CommandConnection(createConnection(redis, this.commandTimeout), {
      ...options,
      commandTimeout: this.commandTimeout,
      onUsable: () => this.events?.recovered(),
      wentDown: dialect?.wentDown,
      scripts: dialect?.scripts,
    });
    this.replicas = replicas && new ReplicaConfirmation(this.connection, replicas);
    this.calls =
      dialect?.calls?.(this.connection, this.patience) ??
      new CallBatches(this.connection, this.keys, this.patience, this.replicas);
    this.views = new RedisViews(this.connection, this.keys, options.node ? 0 : this.commandTimeout);
  }

  get label(): string {
    return this.connection.address;
  }

  get upSince(): number | undefined {
    return this.connection.upSince;
  }

  get serverId(): string | undefined {
    return this.connection.serverId;
  }

  async start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.events = events;
    const connect = (): Redis => createConnection(this.options.redis ?? defaultRedis, this.commandTimeout);
    const heard: ListenerEvents = {
      message: (message) => this.received(message),
      subscribed: (concerns) => events.recovered('messages', concerns),
      refused: (error) => this.options.log.error(toLockError(error, this.connection.address).message),
    };
    this.subscriber =
      this.dialect?.listener(connect, clientId, this.patience, heard) ??
      new Subscriber(connect(), this.keys.channels + clientId, this.commandTimeout, heard);
    await this.connection.start();
    const { byDefault, log } = this.options;
    if (byDefault?.isSlip) log.warn(redisLines.byDefault(this.connection.address));
    if (this.options.observes) return;
    await rehearse(this.connection, this.keys, clientId);
    if (this.replicas) await this.replicas.rehearse(this.options.log);
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.connection.usable ? this.ask(request, true) : this.acquireLater(request);
  }

  release(claim: ReleaseRequest): Promise<ReleaseReply> {
    return this.connection.usable ? this.giveBack(claim, true) : this.releaseLater(claim);
  }

  renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    return this.renewAll(holds, true);
  }

  inspect(name: string, waiters: number): Promise<LockSnapshot> {
    return this.views.inspect(name, waiters);
  }

  revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    return this.views.revoke(name, holders);
  }

  adopt(request: AdoptRequest): Promise<AdoptReply> {
    return adopt(this.connection, this.keys, this.replicas, request);
  }

  list(startsWith: string): AsyncIterable<readonly string[]> {
    return this.views.list(startsWith);
  }

  report(report: ActivityReport): Promise<void> {
    return this.views.report(report);
  }

  reports(most: number): Promise<ActivityReports> {
    return this.views.reports(most);
  }

  async examine(): Promise<readonly LockFinding[]> {
    const examiner = (this.examiner = createConnection(this.options.redis ?? defaultRedis, this.commandTimeout));
    const { subscribe } = this.dialect ?? plain;
    const { heard } = this.keys.forRehearsal(randomUUID());
    const isUnknown = this.options.node !== undefined && this.connection.usable && this.serverId === undefined;
    return [
      ...(await Promise.all([examineSettings(this.connection), examineMessages(examiner, heard, subscribe)])).flat(),
      ...(isUnknown ? [redisFindings.unknownServer(this.connection.address)] : []),
    ];
  }

  availability(): Array<[server: string, isAvailable: boolean]> {
    return [[this.label, this.connection.usable]];
  }

  get isPolling(): boolean {
    return this.subscriber?.isPolling ?? false;
  }

  async close(): Promise<void> {
    const visit = this.examiner && endConnection(this.examiner);
    await Promise.all([this.subscriber?.close(), this.connection.close(), visit]);
  }

  /** @param mayLoad true when an unknown script may be loaded and called again */
  private ask(request: AcquireRequest, mayLoad: boolean): Promise<AcquireReply> {
    return new Promise((resolve, reject) => {
      this.calls.acquire({
        name: request.name,
        request,
        answered: (reply, sentAt) => {
          const answer = decodeAcquire(reply, request, sentAt);
          if (answer.status === 'mismatch') reject(this.mismatch(request, answer.held));
          else resolve(answer.status === 'queued' ? this.queued(request, sentAt, answer) : answer);
        },
        failed: (error, sentAt) => {
          this.askAgain(request, error, sentAt, mayLoad).then(resolve, reject);
        },
      });
    });
  }

  private mismatch({ name, kind }: AcquireRequest, held: string): LockError {
    return this.dialect?.mismatch?.(name, held) ?? refusals.kindMismatch(name, kind, held);
  }

  private giveBack(claim: ReleaseRequest, mayLoad: boolean): Promise<ReleaseReply> {
    return new Promise((resolve, reject) => {
      this.calls.release({
        name: claim.name,
        request: claim,
        answered: (reply) => resolve(decodeRelease(reply)),
        failed: (error) => {
          if (!isMissingScript(error) || !mayLoad) reject(toLockError(error, this.connection.address, claim.name));
          else
            this.loadFor(claim.name)
              .then(() => this.giveBack(claim, false))
              .then(resolve, reject);
        },
      });
    });
  }

  private async acquireLater(request: AcquireRequest): Promise<AcquireReply> {
    await this.connection.whenUsable(request.giveUpAt, request.name);
    if (!request.isWanted()) throw refusals.givenUp(request.name);
    return this.acquire(request);
  }

  private async releaseLater(claim: ReleaseRequest): Promise<ReleaseReply> {
    // A quorum has other nodes, and repeats the release when this one is back.
    await this.connection.whenUsable(this.options.node ? 0 : Number.POSITIVE_INFINITY, claim.name);
    return this.release(claim);
  }

  /** Repeats an acquire that was not executed, as long as a caller wants it: a claim that was given up must not be granted. */
  private async askAgain(
    request: AcquireRequest,
    error: unknown,
    sentAt: number,
    mayLoad: boolean,
  ): Promise<AcquireReply> {
    if (error instanceof UnconfirmedGrant) return this.undo(request, error.cause);
    if (isTransient(error) && performance.now() + transientPause < request.giveUpAt) await sleep(transientPause);
    else if (isMissingScript(error) && mayLoad) await this.loadFor(request.name);
    // 'late': the estimate of the server's clock was wrong, and the reply has corrected it.
    else if (error !== late || performance.now() - sentAt >= this.commandTimeout) {
      throw toLockError(error, this.connection.address, request.name);
    }
    if (!request.isWanted()) throw refusals.givenUp(request.name);
    if (!this.connection.usable) return this.acquireLater(request);
    return this.ask(request, mayLoad && !isMissingScript(error));
  }

  /** Releases a grant that too few replicas have. Where that fails, the caller's side repeats it. */
  private async undo(request: AcquireRequest, error: unknown): Promise<never> {
    const { address, usable } = this.connection;
    const undone = usable && (await hasCome(this.giveBack(request, true)));
    if (!(error instanceof TooFewReplicas)) throw toLockError(error, address, request.name);
    const { confirmed, terms } = error;
    throw redisRefusals.tooFewReplicas(request.name, address, confirmed, terms.count, terms.timeout, !undone);
  }

  private async loadFor(name: string): Promise<void> {
    try {
      await this.connection.loadScripts();
    } catch (error) {
      throw toLockError(error, this.connection.address, name);
    }
  }

  /** A waiter that has not asked again for this long (ms) counts as dead. */
  private get patience(): number {
    return 2 * this.poll + this.commandTimeout;
  }

  private queued(
    request: AcquireRequest,
    sentAt: number,
    { rest, listening, yields, holder }: Extract<DecodedAcquire, { status: 'queued' }>,
  ): AcquireReply {
    this.subscriber?.listen(request.name);
    if (!listening) this.subscriber?.missed(sentAt, request.name);
    else if (request.again) void this.subscriber?.check();
    // When messages can arrive, only when a lease has ended (Redis ends it after its last millisecond), and now and then in case one was
    // lost.
    const pause = Math.min(rest + 2, this.poll, listening ? Number.POSITIVE_INFINITY : claimWindow / 3);
    return { status: 'queued', askAt: performance.now() + pause, yields, holder };
  }

  private async renewAll(holds: readonly RenewRequest[], mayLoad: boolean): Promise<RenewReply[]> {
    if (!this.connection.usable) return holds.map(() => 'unanswered');
    const sentAt = performance.now();
    try {
      const command: Array<string | number> = this.keys.forScript(holds);
      const keyCount = command.length;
      command.push(holds.map(termsOf).join(' '));
      if (this.keys.renewalTerms) command.push(this.keys.renewalTerms(holds));
      const confirmed = this.replicas?.confirm();
      confirmed?.catch(() => undefined);
      const reply = await this.connection.run('renew', keyCount, command);
      const [now, ...replies] = timedReply('renew', reply, holds.length);
      this.connection.serverClock.observe(now, sentAt);
      const answers = replies.map((text) => this.renewed(text, sentAt));
      // Replicas may not have a longer lease than the last confirmed one: it counts from the renewal that enough of them have.
      if (confirmed && !(await hasCome(confirmed)))
        return answers.map((answer) => (answer === 'lost' ? answer : 'unanswered'));
      return answers;
    } catch (error) {
      this.connection.leaveIfUseless(error);
      if (!isMissingScript(error) || !mayLoad) return holds.map(() => 'unanswered');
      await this.connection.loadScripts().catch(() => undefined);
      return this.renewAll(holds, false);
    }
  }

  private renewed(reply: unknown, sentAt: number): RenewReply {
    try {
      const failure = failureIn(reply);
      if (failure) throw failure;
      return decodeRenew(reply, sentAt);
    } catch (error) {
      this.connection.leaveIfUseless(error);
      return 'unanswered';
    }
  }

  private received(message: string): void {
    const grant = decodeGrant(message);
    if (grant) return this.granted(grant);
    const notice = decodeNotice(message);
    if (!notice) return;
    const claim = { name: this.keys.nameOf(notice.record), id: notice.id };
    if (notice.rest === undefined) this.events?.revoked?.(claim);
    else this.events?.freeAt?.(claim, performance.now() + notice.rest + 2);
  }

  private granted(grant: GrantMessage): void {
    const { id: claim, fencingToken, tokensUntil, record, now, length } = grant;
    this.events?.granted({
      name: this.keys.nameOf(record),
      id: claim,
      fencingToken,
      tokensUntil,
      validUntil: this.ageBound(now, length),
    });
  }

  /**
   * A pushed grant replies to no request whose sending would bound its age: a process that was paused finds an old message in its socket.
   * Undefined when the bound is missing or stale, is in the future (another server's clock), or leaves less than half of the grant.
   * Undefined, too, when the message comes from another server than the commands' one: a master that was replaced may still grant locks.
   */
  private ageBound(serverTime: number, length: number): number | undefined {
    const { serverClock } = this.connection;
    // The grant was made by another client's release: replicas confirm it only with the renewal.
    if (this.replicas || !this.subscriber?.isBeside(this.connection)) return undefined;
    const now = performance.now();
    const grantedAt = serverClock.earliest(serverTime);
    if (grantedAt === undefined || grantedAt > now || serverClock.age(now) > longestBoundAge) return undefined;
    const validUntil = certainUntil(grantedAt, length);
    return validUntil - now < length / 2 ? undefined : validUntil;
  }
}

const termsOf = ({ id: claim, fencingToken, lease, reserve, least = 0 }: RenewRequest): string =>
  `${claim} ${fencingToken} ${lease} ${reserve} ${least}`;

const hasCome = (event: Promise<unknown>): Promise<boolean> =>
  event.then(
    () => true,
    () => false,
  );
