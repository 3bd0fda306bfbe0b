import { channels } from '../diagnostics/channels.js';
import { Claim, type ClaimHost } from './claim.js';
import { newClientId } from './claim-id.js';
import { type Clock, systemClock } from './clock.js';
import type { Hold } from './hold.js';
import { LocalQueue, type LocalQueueHost } from './local-queue.js';
import type { Lock } from './lock.js';
import type { LockBackend, PushedGrant } from './lock-backend.js';
import { type CallOptions } from './caller.js';
import { findHandle, findLock, runInFlow, runInFlowOfAll } from './lock-flow.js';
import { type HandleHost, LockHandle } from './lock-handle.js';
import { type LockKey, namesOf } from './lock-key.js';
import { assertCovers } from './lock-demand.js';
import type { LockLog } from './lock-log.js';
import { assertLockName } from './lock-name.js';
import type { LockScope } from './lock-scope.js';
import { LockViews } from './lock-views.js';
import { type MultiAcquisitionHost, acquireAll } from './multi-acquisition.js';
import type { MultiLock } from './multi-lock.js';
import type { ResolvedLockOptions } from './options.js';
import { lostError, refusals } from './refusals.js';
import { Releases } from './releases.js';
import { Renewal } from './renewal.js';
import type { TicketContent } from './ticket.js';
import { type TransferHost, Transfers } from './transfers.js';

export interface LockClientSettings {
  readonly defaults: ResolvedLockOptions;
  /** Callers of this process that may wait at once, over all names: behind another caller of it, or in the backend's queue. */
  readonly maxWaiters: number;
  /** How often a process may pass a lock on inside while other processes wait for it; 0 turns local hand-off off. */
  readonly maxLocalHandoffs: number;
}

/** One connection to a place of locks: every acquisition of a process goes through it. The facade of the core. */
export class LockClient implements ClaimHost, LocalQueueHost, HandleHost, MultiAcquisitionHost, TransferHost {
  readonly defaults: ResolvedLockOptions;
  /** What operators look at. */
  readonly views: LockViews;

  /** Random once, then a counter: no entropy is spent per lock. */
  private readonly id = newClientId();
  private claimCount = 0;
  /** By name. */
  private readonly queues = new Map<string, LocalQueue>();
  /** Of one caller each (`fairness: 'strict'`), by claim. */
  private readonly strictQueues = new Map<string, LocalQueue>();
  private waiting = 0;
  /** Holds that were not left yet, be they lost or not. */
  private held = 0;
  readonly releases: Releases;
  private readonly renewal: Renewal;
  private readonly transfers = new Transfers(this);
  private closing: Promise<void> | undefined;
  /** No work is left that could ask for a lock. */
  private closed = false;
  private onLastHoldEnded: (() => void) | undefined;

  constructor(
    readonly backend: LockBackend,
    readonly settings: LockClientSettings,
    private readonly log: LockLog,
    readonly clock: Clock = backend.clock ?? systemClock,
  ) {
    this.defaults = settings.defaults;
    this.releases = new Releases(backend, clock, log);
    this.renewal = new Renewal(backend, clock);
    this.views = new LockViews({ backend, clock, log, id: this.id, holds: this.renewal.holds });
  }

  /** Connects. Rejects with LockUnavailableError when that fails; locks then reject until the backend is back, by itself. */
  start(): Promise<void> {
    return this.backend.start(this.id, {
      granted: (grant) => {
        this.granted(grant);
      },
      recovered: (what, concerns) => {
        for (const queue of this.everyQueue()) if (!concerns || concerns(queue.name)) queue.claim?.ask();
        if (what === 'messages') return;
        this.releases.repeat();
        this.renewal.repeat();
      },
      revoked: ({ claim }) => {
        this.renewal.makeSure(claim);
      },
    });
  }

  /** Takes the lock, or re-enters it when the running flow holds it (no command then). Does not open a flow. */
  acquire(name: string, options: CallOptions): Promise<LockHandle>;
  /** Several names: all of them or none. */
  acquire(names: readonly string[], options: CallOptions): Promise<MultiLock>;
  acquire(key: LockKey, options: CallOptions): Promise<LockHandle | MultiLock>;
  acquire(name: LockKey, options: CallOptions): Promise<LockHandle | MultiLock> {
    try {
      if (Array.isArray(name)) {
        const names = namesOf(name);
        // Before the first is asked for.
        for (const one of names) this.outerOf(one, options);
        return acquireAll(this, names, options);
      }
      assertLockName(name);
      options.signal?.throwIfAborted();
      const outer = this.outerOf(name, options);
      if (outer) return Promise.resolve(this.reenter(outer));
      this.assertOpen(name);
      return this.queueFor(name, options).join(options);
    } catch (error) {
      const reason = error as Error;
      return Promise.reject(reason);
    }
  }

  /** Takes or re-enters the lock for one piece of work: run it in the answered scope, then leave. */
  async enter(key: LockKey, options: ResolvedLockOptions): Promise<LockScope> {
    return scopeOf(await this.acquire(key, options), options);
  }

  /** Takes over a lock that another process has exported. Does not open a flow. */
  adopt(ticket: TicketContent, options: ResolvedLockOptions): Promise<LockHandle | MultiLock> {
    return this.transfers.adopt(ticket, options);
  }

  /** The same for one piece of work. */
  async enterAdopted(ticket: TicketContent, options: ResolvedLockOptions): Promise<LockScope> {
    return scopeOf(await this.adopt(ticket, options), options);
  }

  export(handles: readonly LockHandle[], lease?: number): Promise<string> {
    return this.transfers.export(handles, lease);
  }

  /** The innermost lock of the running flow on this client, or the hold of one name. */
  current(name?: string): Lock | undefined {
    if (name === undefined) return findLock((handle) => handle.host === this);
    return findHandle((handle) => handle.host === this && handle.key === name);
  }

  /**
   * Rejects everybody who waits, lets running work end for up to `timeout` ms, gives back what is held, disconnects.
   * Work that already is inside a lock may still take further locks meanwhile.
   */
  shutdown(timeout: number): Promise<void> {
    this.closing ??= this.close(timeout);
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
    if (unanswered) throw refusals.notRenewed(unanswered.name, unanswered.where);
  }

  async leave(hold: Hold): Promise<void> {
    // Finds out about a lease that ran out while no timer could fire.
    hold.remaining();
    if (--hold.users > 0) return;
    const outcome = hold.owner.release(hold);
    this.renewal.remove(hold);
    const reply = outcome === 'handed-on' ? outcome : await outcome;
    if ((reply === 'absent' || reply === 'cancelled') && !hold.lost) {
      hold.lost = lostError(hold.name, 'revoked', hold.where);
      this.report(hold);
    }
    this.holdEnded();
    if (channels.released.hasSubscribers) {
      const { name: key, fencingToken, acquiredAt } = hold;
      channels.released.publish({ key, fencingToken, held: this.clock.now() - acquiredAt });
    }
  }

  openClaim(queue: LocalQueue, method = ''): Claim {
    const id = this.newClaimId(method);
    if (queue.strict) this.strictQueues.set(id, queue);
    return new Claim(queue.name, id, queue.demand, queue, this);
  }

  newClaimId(method = ''): string {
    return `${this.id}:${(this.claimCount++).toString(36)}${method}`;
  }

  assertOpen(name: string): void {
    if (this.closing && (this.closed || !this.current())) throw refusals.shuttingDown(name);
  }

  countWaiting(name: string, change: 1 | -1, where?: string): void {
    if (change > 0 && this.waiting >= this.settings.maxWaiters) {
      throw refusals.queueFull(name, this.waiting, where);
    }
    this.waiting += change;
  }

  holdStarted(hold: Hold): void {
    this.held++;
    this.renewal.add(hold);
  }

  holdMoved(hold: Hold): void {
    hold.users = 0;
    this.renewal.remove(hold);
    this.holdEnded();
    if (channels.exported.hasSubscribers) {
      const { name: key, fencingToken, acquiredAt } = hold;
      channels.exported.publish({ key, fencingToken, held: this.clock.now() - acquiredAt });
    }
  }

  rescheduled(hold: Hold): void {
    this.renewal.rescheduled(hold);
  }

  handOver(hold: Hold, calledAt: number): LockHandle {
    if (channels.acquired.hasSubscribers && hold.remaining() > 0) {
      const { name: key, fencingToken } = hold;
      channels.acquired.publish({ key, fencingToken, waited: this.clock.now() - calledAt });
    }
    return new LockHandle(hold, 1, this);
  }

  holdLost(hold: Hold): void {
    this.renewal.remove(hold);
    this.report(hold);
  }

  claimEnded(queue: LocalQueue, claim: Claim): void {
    if (queue.strict) this.strictQueues.delete(claim.claim);
    else if (queue.isEmpty) this.queues.delete(queue.name);
  }

  /** What the running flow holds of this name. @throws LockUpgradeError, LockKindMismatchError where that is not enough. */
  private outerOf(name: string, options: CallOptions): LockHandle | undefined {
    const outer = findHandle((handle) => handle.host === this && handle.key === name);
    if (outer) assertCovers(name, outer.hold.claim, options, options.where);
    return outer;
  }

  private reenter(outer: LockHandle): LockHandle {
    const { hold } = outer;
    // Looks at the clock: after a stall the loss may not have been noticed yet.
    hold.remaining();
    if (hold.lost) throw hold.lost;
    hold.users++;
    return new LockHandle(hold, outer.depth + 1, this);
  }

  private queueFor(name: string, options: ResolvedLockOptions): LocalQueue {
    if (options.fairness === 'strict') return new LocalQueue(name, this, options);
    let queue = this.queues.get(name);
    if (!queue) this.queues.set(name, (queue = new LocalQueue(name, this)));
    return queue;
  }

  private everyQueue(): LocalQueue[] {
    return [...this.queues.values(), ...this.strictQueues.values()];
  }

  private granted(grant: PushedGrant): void {
    const { claim } = this.strictQueues.get(grant.claim) ?? this.queues.get(grant.name) ?? {};
    if (claim?.claim === grant.claim) claim.receive(grant);
    // Given up meanwhile, or brought back by a failover: nobody here wants it. But for what goes on elsewhere.
    else if (!this.transfers.hasLeft(grant.claim)) void this.releases.release(grant, this.defaults.lease, 0);
  }

  private holdEnded(): void {
    if (--this.held === 0) this.onLastHoldEnded?.();
  }

  private report(hold: Hold): void {
    const { name: key, fencingToken, lost } = hold;
    this.log.error(lost!.message);
    if (channels.lost.hasSubscribers) channels.lost.publish({ key, fencingToken, reason: lost!.reason });
  }

  private rejectWaiting(): void {
    const reason = refusals.shuttingDown();
    for (const queue of this.everyQueue()) queue.rejectWaiting(reason);
  }

  private async close(timeout: number): Promise<void> {
    this.rejectWaiting();
    if (this.held > 0) {
      const ended = new Promise<void>((resolve) => (this.onLastHoldEnded = resolve));
      const late = new Promise<void>((resolve) => {
        const stop = this.clock.timer(timeout, resolve);
        void ended.then(stop);
      });
      await Promise.race([ended, late]);
    }
    this.closed = true;
    for (const hold of this.renewal.holds) hold.lose('shutdown');
    // Work that was inside a lock may have queued for another one meanwhile.
    this.rejectWaiting();
    await this.releases.settled();
    this.releases.stop();
    await this.backend.close();
  }
}

function scopeOf(lock: LockHandle | MultiLock, { onLost }: ResolvedLockOptions): LockScope {
  return {
    lock,
    run: (fn) => ('parts' in lock ? runInFlowOfAll(lock, fn) : runInFlow(lock, fn)),
    leave: async (outcome) => {
      await lock.release();
      if (outcome === 'worked' && lock.lost && onLost === 'throw') throw lock.lost;
    },
  };
}
