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
import type { LockFinding, LockFindingCode } from '../../../diagnostics/lock-finding.js';
import type { ClusterBackend } from '../cluster/cluster-backend.js';
import { RedisBackend, type RedisBackendOptions, type RedisDialect } from '../redis-backend.js';
import { Courtesy } from './courtesy.js';
import { RedissonDialect } from './redisson-dialect.js';
import { redissonFindings, redissonRefusals } from './redisson.messages.js';
import type { RedissonTokens } from './redisson-keys.js';

export interface RedissonBackendOptions extends Omit<RedisBackendOptions, 'node'> {
  /** @default 'own' */
  tokens?: RedissonTokens;
}

/** Makes the backend of a cluster. @param dialectOf called for each of its nodes */
type OnCluster = (dialectOf: (prefix: string) => RedisDialect) => ClusterBackend;

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

/** The claims of this process that wait for a lock. */
interface Waiters {
  readonly requests: Map<string, AcquireRequest>;
  /** The next release is left to Redisson. */
  yields: boolean;
}

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
  /** By channel. */
  private readonly waiting = new Map<string, Waiters>();
  private readonly courtesy = new Courtesy((name) => this.channelOf(name));

  /** @param onCluster @default one server */
  constructor({ tokens = 'own', ...options }: RedissonBackendOptions, onCluster?: OnCluster) {
    this.tokens = tokens;
    this.capabilities = { ...redissonCapabilities, dated: tokens === 'own' };
    const { commandTimeout = defaults.commandTimeout } = options;
    const dialectOf = (prefix: string): RedisDialect => {
      const dialect = new RedissonDialect(prefix, {
        tokens,
        inCluster: onCluster !== undefined,
        commandTimeout,
        isWanted: (channel) => this.waiting.has(channel),
        woken: (channel) => this.woken(channel),
      });
      // The same at each node.
      this.channelOf = dialect.keys.channelOf;
      return dialect;
    };
    this.commandTimeout = commandTimeout;
    this.backend =
      onCluster?.(dialectOf) ?? new RedisBackend({ ...options, keyPrefix: options.keyPrefix ?? '' }, dialectOf);
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
    const heldBack = enqueue && !again ? this.courtesy.until(name) : undefined;
    if (heldBack !== undefined && heldBack < request.giveUpAt) return { status: 'queued', askAt: heldBack };
    try {
      const reply = await this.backend.acquire(request);
      if (reply.status === 'queued') this.mindOthers(name, reply.yields);
      else this.leave(name, id);
      if (reply.status === 'granted' && reply.othersWait && request.isWanted()) this.courtesy.contend(id, reply.owed);
      return reply;
    } catch (error) {
      // A claim that was queued asks again.
      if (!again) this.leave(name, id);
      throw error;
    }
  }

  async release(claim: ReleaseRequest): Promise<ReleaseReply> {
    const waited = this.leave(claim.name, claim.id);
    this.courtesy.released(claim);
    const reply = await this.backend.release(claim);
    return reply === 'absent' && waited ? 'cancelled' : reply;
  }

  async renew(holds: readonly RenewRequest[]): Promise<RenewReply[]> {
    const replies = await this.backend.renew(holds);
    replies.forEach((reply, index) => {
      const { id, reserve, least } = holds[index]!;
      if (reply === 'lost') this.courtesy.forget(id);
      // Without tokens to reserve the reply does not say who waits.
      else if (typeof reply === 'object' && (reserve > 0 || least)) {
        if (reply.othersWait) this.courtesy.contend(id, reply.owed);
        else this.courtesy.forget(id);
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

  private wait(request: AcquireRequest): void {
    const channel = this.channelOf(request.name);
    const waiters = this.waiting.get(channel);
    if (waiters) waiters.requests.set(request.id, request);
    else this.waiting.set(channel, { requests: new Map([[request.id, request]]), yields: false });
  }

  private mindOthers(name: string, yields = false): void {
    const waiters = this.waiting.get(this.channelOf(name));
    if (waiters) waiters.yields = yields;
  }

  /** @returns true when it waited */
  private leave(name: string, id: string): boolean {
    if (this.waiting.size === 0) return false;
    const channel = this.channelOf(name);
    const requests = this.waiting.get(channel)?.requests;
    const waited = requests?.delete(id) ?? false;
    if (requests?.size === 0) this.waiting.delete(channel);
    return waited;
  }

  /** A lock was released: the claims that wait for it here ask again. The callers of a client share one for each name. */
  private woken(channel: string): void {
    const waiters = this.waiting.get(channel);
    const at = this.courtesy.asksAt(channel, waiters?.yields ?? false);
    if (!waiters) return;
    // The release after it may be theirs.
    waiters.yields = false;
    for (const { name, id } of [...waiters.requests.values()]) this.events?.freeAt?.({ name, id }, at);
  }
}
