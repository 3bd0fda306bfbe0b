import { defaults } from '../../../core/defaults.js';
import type {
  AcquireReply,
  AcquireRequest,
  ActivityReport,
  ActivityReports,
  AdoptReply,
  AdoptRequest,
  BackendCapabilities,
  HolderRef,
  LockBackend,
  LockBackendEvents,
  LockSnapshot,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
} from '../../../core/lock-backend.js';
import type { LockFinding, LockFindingCode } from '../../../core/lock-finding.js';
import type { ClusterBackend } from '../cluster/cluster-backend.js';
import { RedisBackend, type RedisBackendOptions, type RedisDialect } from '../redis-backend.js';
import { redissonDialect } from './redisson-dialect.js';
import { redissonFindings, redissonRefusals } from './redisson.messages.js';
import type { RedissonTokens } from './redisson-keys.js';

export interface RedissonBackendOptions extends Omit<RedisBackendOptions, 'node'> {
  /** @default 'own' */
  tokens?: RedissonTokens;
}

/** Makes the backend of a cluster. @param dialect called for each of its nodes */
export type OnCluster = (dialect: () => RedisDialect) => ClusterBackend;

/**
 * What Redisson's format cannot promise: it has no queue. Of its holders Redis knows neither since when, nor a token, and a name does not
 * show that it is a lock.
 */
export const redissonCapabilities: BackendCapabilities = {
  fifo: false,
  permits: false,
  views: false,
  handOver: true,
  shared: false,
  queue: false,
  dated: true,
};

const losesData: ReadonlySet<LockFindingCode> = new Set(['LOCK_DOCTOR_EVICTION', 'LOCK_DOCTOR_PERSISTENCE']);

/**
 * For so long (ms) the next claim of this process leaves a lock to other processes that listen for it. Without a queue it would take the
 * lock again in the packet of its release, before any of them could ask.
 */
const courtesy = 20;

/** How many contested holds are remembered: more do no harm, they are only less polite. */
const mostContested = 1000;

/**
 * Locks in the format of Redisson's RLock: Node and Java exclude each other, and wake each other by message. Who asks first after a release
 * has the lock.
 */
export class RedissonBackend implements LockBackend {
  readonly capabilities: BackendCapabilities;
  readonly commandTimeout: number;
  readonly poll: number;
  readonly claimWindow: number;

  private readonly backend: RedisBackend | ClusterBackend;
  private channelOf!: (name: string) => string;
  private readonly tokens: RedissonTokens;
  private events: LockBackendEvents | undefined;
  /** The claims that wait, by channel. */
  private readonly waiting = new Map<string, Map<string, AcquireRequest>>();
  /** Claims that hold a lock for which other processes listen. */
  private readonly contested = new Set<string>();
  /** Channels of locks that are left to others, and until when. */
  private readonly yielded = new Map<string, number>();

  /** @param onCluster @default one server */
  constructor({ tokens = 'own', ...options }: RedissonBackendOptions, onCluster?: OnCluster) {
    this.tokens = tokens;
    this.capabilities = { ...redissonCapabilities, dated: tokens === 'own' };
    const { commandTimeout = defaults.commandTimeout } = options;
    const dialect = (): RedisDialect =>
      redissonDialect(tokens, onCluster !== undefined, commandTimeout, {
        channelsAre: (channelOf) => (this.channelOf = channelOf),
        isWanted: (channel) => this.waiting.has(channel),
        woken: (channel) => this.woken(channel),
      });
    this.commandTimeout = commandTimeout;
    this.backend =
      onCluster?.(dialect) ?? new RedisBackend({ ...options, keyPrefix: options.keyPrefix ?? '' }, dialect());
    this.poll = this.backend.poll;
    this.claimWindow = this.backend.claimWindow;
  }

  get label(): string | undefined {
    return 'label' in this.backend ? this.backend.label : undefined;
  }

  start(clientId: string, events: LockBackendEvents): Promise<void> {
    this.events = events;
    return this.backend.start(clientId, events);
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { name, id, kind, enqueue, again } = request;
    if (kind !== 'exclusive') throw redissonRefusals.onlyExclusive(name, kind);
    // Before the reply: a release may be heard earlier.
    if (enqueue) this.wait(request);
    const yieldedUntil = enqueue && !again && this.yielded.size > 0 && this.yielded.get(this.channelOf(name));
    if (yieldedUntil && yieldedUntil > performance.now() && yieldedUntil < request.giveUpAt)
      return { status: 'queued', askAt: yieldedUntil };
    try {
      const reply = await this.backend.acquire(request);
      if (reply.status !== 'queued') this.leave(name, id);
      if (reply.status === 'granted' && reply.othersWait && request.isWanted()) this.contend(id);
      return reply;
    } catch (error) {
      // A claim that was queued asks again.
      if (!again) this.leave(name, id);
      throw error;
    }
  }

  async release(claim: ReleaseRequest): Promise<ReleaseReply> {
    const waited = this.leave(claim.name, claim.id);
    if (this.contested.delete(claim.id)) this.yieldFor(this.channelOf(claim.name));
    const reply = await this.backend.release(claim);
    return reply === 'absent' && waited ? 'cancelled' : reply;
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    const replies = await this.backend.renew(holds);
    replies.forEach((reply, index) => {
      const { id, reserve, least } = holds[index]!;
      if (reply === 'lost') this.contested.delete(id);
      // Without tokens to reserve the reply does not say who waits.
      else if (typeof reply === 'object' && (reserve > 0 || least)) {
        if (reply.othersWait) this.contend(id);
        else this.contested.delete(id);
      }
    });
    return replies;
  }

  adopt(request: AdoptRequest): Promise<AdoptReply> {
    return this.backend.adopt(request);
  }

  inspect(name: string, waiters: number): Promise<LockSnapshot> {
    return this.backend.inspect(name, waiters);
  }

  revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    return this.backend.revoke(name, holders);
  }

  report(report: ActivityReport): Promise<void> {
    return this.backend.report(report);
  }

  reports(most: number): Promise<ActivityReports> {
    return this.backend.reports(most);
  }

  nodeOf(name: string): unknown {
    return 'nodeOf' in this.backend ? this.backend.nodeOf(name) : undefined;
  }

  async examine(): Promise<readonly LockFinding[]> {
    const found = await this.backend.examine();
    if (this.tokens === 'own') return found;
    return found.map((finding) => (losesData.has(finding.code) ? redissonFindings.lostCounters(finding) : finding));
  }

  availability(): Array<[server: string, isAvailable: boolean]> {
    return this.backend.availability();
  }

  get isPolling(): boolean {
    return this.backend.isPolling;
  }

  close(): Promise<void> {
    this.waiting.clear();
    return this.backend.close();
  }

  private contend(id: string): void {
    this.contested.add(id);
    // A hold that was handed over is not released here.
    const [oldest] = this.contested;
    if (this.contested.size > mostContested) this.contested.delete(oldest!);
  }

  private yieldFor(channel: string): void {
    const until = performance.now() + courtesy;
    this.yielded.set(channel, until);
    setTimeout(() => this.yielded.get(channel) === until && this.yielded.delete(channel), courtesy).unref();
  }

  private wait(request: AcquireRequest): void {
    const channel = this.channelOf(request.name);
    const claims = this.waiting.get(channel);
    if (claims) claims.set(request.id, request);
    else this.waiting.set(channel, new Map([[request.id, request]]));
  }

  /** @returns true when it waited */
  private leave(name: string, id: string): boolean {
    if (this.waiting.size === 0) return false;
    const channel = this.channelOf(name);
    const claims = this.waiting.get(channel);
    const waited = claims?.delete(id) ?? false;
    if (claims?.size === 0) this.waiting.delete(channel);
    return waited;
  }

  /** A lock was released: all claims ask that wait for it here. The client has one for all its callers that do not want a place of their own. */
  private woken(channel: string): void {
    // After a release here it is the message of that release: others hear it, too, and ask first.
    const at = this.yielded.get(channel) ?? performance.now();
    this.yielded.delete(channel);
    for (const { name, id } of [...(this.waiting.get(channel)?.values() ?? [])])
      this.events?.freeAt?.({ name, id }, at);
  }
}
