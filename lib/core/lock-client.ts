import type { LockAcquireContext } from '../diagnostics/channels.js';
import { Claim, type ClaimHost } from './claim.js';
import { newClaimId, newClientId } from './claim-id.js';
import { type Clock, systemClock } from './clock.js';
import type { DueHeap } from './due-heap.js';
import { ForgottenHandles } from './forgotten-handles.js';
import type { Hold } from './hold.js';
import { LocalQueue, type LocalQueueHost } from './local-queue.js';
import type { Lock, LockScope } from './lock.js';
import type { ClaimRef, LockBackend, PushedGrant, ReleaseReply } from './lock-backend.js';
import type { CallOptions, ResolvedLockOptions } from './options.js';
import {
  type FlowNode,
  assertCovers,
  findHandle,
  findLock,
  flowAround,
  runInFlow,
  runInFlowOfAll,
} from './lock-flow.js';
import { type HandleHost, LockHandle } from './lock-handle.js';
import { type LockKey, namesOf, assertLockName } from './lock-key.js';
import type { LockLog } from './lock-log.js';
import { type MultiAcquisitionHost, acquireAll } from './multi-acquisition.js';
import type { MultiLock } from './multi-lock.js';
import { Observation, requestsAreObserved } from './observation.js';
import { holdsNamed, refusals, shutdownLines } from './refusals.js';
import { Releases } from './releases.js';
import { Renewal } from './renewal.js';
import { OptionalWorker, type StartRenewalWorker } from './renewal-worker.js';
import { setImmediate } from '../diagnostics/platform.js';
import { inRoot } from './root-context.js';
import { ShortLivedMap } from './short-lived-map.js';
import type { TicketContent } from './ticket.js';
import { type TransferHost, Transfers } from './transfers.js';

interface LockClientSettings {
  readonly defaults: ResolvedLockOptions;
  /** Callers of this process that may wait at once, over all names: behind another caller of the process, or in the backend's queue. */
  readonly maxWaiters: number;
  /** The name of the connection, for subscribers. @default 'default' */
  readonly connection?: string;
  /** Starts the second watchdog of `renewFrom: 'worker'`. @default that option has no effect */
  readonly startWorker?: StartRenewalWorker;
  /** False where time is virtual: when a handle is collected is a matter of real time. @default true */
  readonly watchesHandles?: boolean;
}

/** One connection to a backend: all acquisitions of a process go through it. The facade of the core. */
export class LockClient implements ClaimHost, LocalQueueHost, HandleHost, MultiAcquisitionHost, TransferHost {
  readonly defaults: ResolvedLockOptions;
  /** All its claims begin with it. It gives access to them: no log may show it. */
  readonly id = newClientId();
  private claimCount = 0;
  /** By name. */
  private readonly queues = new ShortLivedMap<string, LocalQueue>();
  /** Of one caller each (`fairness: 'strict'`), by claim id. */
  private readonly strictQueues = new ShortLivedMap<string, LocalQueue>();
  private waiting = 0;
  readonly releases: Releases;
  readonly observation: Observation;
  private readonly handles: ForgottenHandles;
  private readonly renewal: Renewal;
  private readonly worker: OptionalWorker;
  /** The worker is started with the client, not with the first lock. */
  private needsWorker = false;
  private readonly transfers = new Transfers(this);
  private closing: Promise<void> | undefined;
  /** All work has ended: no call can follow. */
  private closed = false;

  constructor(
    readonly backend: LockBackend,
    readonly settings: LockClientSettings,
    readonly log: LockLog,
    readonly clock: Clock = backend.clock ?? systemClock,
  ) {
    this.defaults = settings.defaults;
    this.releases = new Releases(backend, clock, log);
    this.observation = new Observation(settings.connection ?? 'default', clock, backend);
    this.worker = new OptionalWorker(settings.startWorker, this.observation);
    this.handles = new ForgottenHandles(log, (hold) => this.rescheduled(hold));
    this.renewal = new Renewal(backend, clock, this.observation, this.worker, this.handles);
  }

  /** Connects. Rejects with LockUnavailableError when that fails; locks then reject until the backend is available again. */
  async start(): Promise<void> {
    // Also where no worker can start: calls that need none find a connection.
    const connected = this.backend.start(this.id, {
      granted: (grant) => {
        this.granted(grant);
      },
      recovered: (what, concerns) => {
        for (const queue of this.everyQueue()) if (!concerns || concerns(queue.name)) queue.claim?.ask();
        if (what === 'messages') return;
        this.releases.repeat();
        this.renewal.repeat();
      },
      revoked: ({ id: claim }) => {
        this.renewal.makeSure(claim);
      },
      freeAt: (claim, at) => {
        this.claimOf(claim)?.askBy(at);
      },
    });
    connected.catch(() => undefined);
    if (this.needsWorker || this.worker.isMissingFor(this.defaults)) await this.worker.start();
    return connected;
  }

  /** Some locks will be taken with these options: what they need starts with the client. Call it before `start`. */
  expect(options: ResolvedLockOptions): void {
    this.needsWorker ||= this.worker.isMissingFor(options);
  }

  get holds(): DueHeap<Hold> {
    return this.renewal.holds;
  }

  /** How many locks it holds, and how many callers wait for one. */
  get counts(): { readonly held: number; readonly waiting: number } {
    return { held: this.holds.size, waiting: this.waiting };
  }

  /** Takes the lock, or re-enters it when the running flow holds it (without a command). Does not open a flow. */
  acquire(name: string, options: CallOptions): Promise<LockHandle>;
  /** Several names: all of them or none. */
  acquire(names: readonly string[], options: CallOptions): Promise<MultiLock>;
  acquire(key: LockKey, options: CallOptions): Promise<LockHandle | MultiLock>;
  acquire(name: LockKey, options: CallOptions): Promise<LockHandle | MultiLock> {
    if (options.renewFrom === 'worker' && this.worker.isMissingFor(options))
      return this.withWorker(options, (timed) => this.acquire(name, timed));
    try {
      if (Array.isArray(name)) {
        const names = namesOf(name);
        // Before the first name is requested.
        for (const one of names) this.outerOf(one, options);
        return acquireAll(this, names, options);
      }
      assertLockName(name);
      options.signal?.throwIfAborted();
      const around = flowAround();
      const outer = around && this.outerOf(name, options);
      if (outer) return Promise.resolve(this.reenter(outer, options));
      this.assertOpen(name);
      if (requestsAreObserved())
        return this.observation.request(name, options, (request) => this.join(name, options, around, request));
      return this.join(name, options, around);
    } catch (error) {
      const reason = error as Error;
      return Promise.reject(reason);
    }
  }

  /** Takes or re-enters the lock for one piece of work: run it in the returned scope, then leave. */
  async enter(key: LockKey, options: CallOptions): Promise<LockScope> {
    return scopeOf(await this.acquire(key, options), options);
  }

  /** Takes over a lock that another process has exported. Does not open a flow. */
  adopt(ticket: TicketContent, options: CallOptions): Promise<LockHandle | MultiLock> {
    if (this.worker.isMissingFor(options)) return this.withWorker(options, (timed) => this.adopt(ticket, timed));
    return this.transfers.adopt(ticket, options);
  }

  /** The same for one piece of work. */
  async enterAdopted(ticket: TicketContent, options: CallOptions): Promise<LockScope> {
    return scopeOf(await this.adopt(ticket, options), options);
  }

  export(handles: readonly LockHandle[], lease?: number): Promise<string> {
    return this.transfers.export(handles, lease);
  }

  /** The innermost lock of the running flow on this client, or the hold of one name. */
  current(name?: string): Lock | undefined {
    if (name === undefined) return findLock((handle) => LockHandle.hostOf(handle) === this);
    return findHandle((handle) => LockHandle.hostOf(handle) === this && handle.key === name);
  }

  /** True once it has begun to close. */
  get isClosing(): boolean {
    return this.closing !== undefined;
  }

  /**
   * Rejects all callers that wait, gives holders up to `timeout` ms to end, releases what is still held, and disconnects.
   * Does not wait for a lock that is lost. Work inside a lock may still take further locks.
   */
  shutdown(timeout: number): Promise<void> {
    this.closing ??= inRoot(() => this.close(timeout));
    return this.closing;
  }

  async renew(holds: readonly Hold[], lease?: number): Promise<void> {
    const now = this.clock.now();
    const replies = await this.backend.renew(holds.map((hold) => hold.lengthening(lease ?? hold.lease, now)));
    let unanswered: Hold | undefined;
    holds.forEach((hold, index) => {
      if (replies[index] === 'unanswered') unanswered ??= hold;
      else hold.answered(replies[index]!);
    });
    for (const { lost } of holds) if (lost) throw lost;
    if (unanswered) throw refusals.notRenewed(unanswered.name, unanswered.caller);
  }

  async leave(hold: Hold, handle: LockHandle): Promise<void> {
    if (hold.drop(handle)) this.handles.unwatch(handle);
    if (!hold.leave()) return;
    const outcome = inRoot(() => hold.owner.release(hold));
    this.renewal.remove(hold);
    if (outcome === 'handed-on') this.released(hold, outcome);
    else if (hold.options.release === 'sent') {
      void outcome.then((reply) => this.released(hold, reply));
      // Backends write the commands of a turn of the event loop together, at its end. The process may exit right behind this call.
      await new Promise<void>((resolve) => setImmediate(resolve));
    } else this.released(hold, await outcome);
  }

  openClaim(queue: LocalQueue, suffix: string): Claim {
    const id = this.newClaimId(suffix);
    if (queue.strict) this.strictQueues.set(id, queue);
    return new Claim(queue.name, id, queue.demand, queue, this);
  }

  newClaimId(callerSuffix = ''): string {
    return newClaimId(this.id, this.claimCount++, callerSuffix);
  }

  assertOpen(name: string): void {
    if (this.closing && (this.closed || !this.current())) throw refusals.shuttingDown(name);
  }

  countWaiting(name: string, change: 1 | -1, caller?: string): void {
    if (change > 0 && this.waiting >= this.settings.maxWaiters) {
      throw refusals.queueFull(name, this.waiting, caller);
    }
    this.waiting += change;
  }

  holdStarted(hold: Hold): void {
    this.renewal.add(hold);
  }

  holdMoved(hold: Hold): void {
    hold.end();
    this.renewal.remove(hold);
    this.observation.holdEnds(hold, 'exported');
  }

  rescheduled(hold: Hold): void {
    this.renewal.rescheduled(hold);
  }

  holdLost(hold: Hold): void {
    this.renewal.remove(hold);
    this.report(hold);
  }

  claimEnded(queue: LocalQueue, claim: Claim): void {
    if (queue.strict) this.strictQueues.delete(claim.id);
    else if (queue.isEmpty) this.queues.delete(queue.name);
  }

  /** The running flow's hold of this name. @throws LockUpgradeError, LockKindMismatchError where that is not enough. */
  private outerOf(name: string, options: CallOptions): LockHandle | undefined {
    const outer = findHandle((handle) => LockHandle.hostOf(handle) === this && handle.key === name);
    if (outer) assertCovers(name, LockHandle.holdOf(outer).claim, options);
    return outer;
  }

  private reenter(outer: LockHandle, options: ResolvedLockOptions): LockHandle {
    const hold = LockHandle.holdOf(outer);
    hold.enter();
    return this.handleOf(hold, outer.depth + 1, options);
  }

  handleOf(hold: Hold, depth = 1, { isByHand }: ResolvedLockOptions = hold.options): LockHandle {
    const handle = new LockHandle(hold, depth, this);
    if (isByHand && this.settings.watchesHandles !== false) hold.keep(handle);
    return handle;
  }

  private join(
    name: string,
    options: CallOptions,
    around: FlowNode | undefined,
    request?: LockAcquireContext,
  ): Promise<LockHandle> {
    return inRoot(() => this.queueFor(name, options).join(options, around, request));
  }

  private queueFor(name: string, options: ResolvedLockOptions): LocalQueue {
    // A backend without a queue wakes all its claims at each release. So the callers of a process share one there.
    const hasQueue = this.backend.capabilities?.queue !== false;
    if (options.fairness === 'strict' && (hasQueue || options.kind !== 'exclusive'))
      return new LocalQueue(name, this, options, true);
    let queue = this.queues.get(name);
    if (!queue) this.queues.set(name, (queue = new LocalQueue(name, this)));
    return queue;
  }

  /** For operators. */
  everyQueue(): LocalQueue[] {
    return [...this.queues.values(), ...this.strictQueues.values()];
  }

  private claimOf({ name, id }: ClaimRef): Claim | undefined {
    const { claim } = this.strictQueues.get(id) ?? this.queues.get(name) ?? {};
    return claim?.id === id ? claim : undefined;
  }

  private granted(grant: PushedGrant): void {
    const claim = this.claimOf(grant);
    if (claim) claim.receive(grant);
    // No caller here wants it: the claim was given up, or a failover brought it back. An exported claim is left alone.
    else if (!this.transfers.hasLeft(grant.id)) void this.releases.release(grant, this.defaults.lease, 0);
  }

  private released(hold: Hold, reply: 'handed-on' | ReleaseReply | 'unanswered'): void {
    if ((reply === 'absent' || reply === 'cancelled') && !hold.lost) {
      hold.endedByOthers();
      inRoot(() => this.report(hold));
    }
    this.observation.holdEnds(hold, 'released');
  }

  private report(hold: Hold): void {
    this.log.error(hold.lost!.message);
    this.observation.holdIsLost(hold);
  }

  /** `wait` counts from the call. */
  private async withWorker<T>(options: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const { calledAt = this.clock.now() } = options;
    await this.worker.start();
    return call({ ...options, calledAt });
  }

  private rejectWaiting(): void {
    const reason = refusals.shuttingDown();
    for (const queue of this.everyQueue()) queue.rejectWaiting(reason);
  }

  private async close(timeout: number): Promise<void> {
    this.rejectWaiting();
    const { holds } = this;
    if (holds.size > 0 && timeout > 0) this.log.log(shutdownLines.waits(timeout, holdsNamed([...holds])));
    await this.renewal.empty(timeout);
    this.closed = true;
    for (const hold of holds) hold.lose('shutdown');
    // Work inside a lock may have queued for another one since.
    this.rejectWaiting();
    await this.transfers.settled();
    await this.releases.settled(this.backend.commandTimeout);
    this.releases.stop();
    await this.worker.close();
    await this.backend.close();
  }
}

/** A lock for one piece of work. */
function scopeOf(lock: LockHandle | MultiLock, { onLost }: ResolvedLockOptions): LockScope {
  return {
    lock,
    run: (fn) =>
      'parts' in lock
        ? runInFlowOfAll(lock, lock.parts, lock.parts.reduce(observed, fn))
        : runInFlow(lock, observed(fn, lock)),
    leave: async (outcome) => {
      await lock.release();
      if (outcome === 'worked' && lock.lost && onLost === 'throw') throw lock.lost;
    },
  };
}

/** The work as a subscriber wants to run it. A re-entry is inside that already. */
function observed<T>(work: () => T, lock: LockHandle): () => T {
  const run = lock.depth === 1 ? LockHandle.holdOf(lock).context?.run : undefined;
  return run ? () => run(work) : work;
}
