import { randomBytes } from 'node:crypto';
import { channels } from '../diagnostics/channels.js';
import { Claim, type ClaimOwner } from './claim.js';
import { type Clock, systemClock } from './clock.js';
import type { Hold } from './hold.js';
import { LocalQueue, type LocalQueueHost } from './local-queue.js';
import type { Lock } from './lock.js';
import type { LockBackend, PushedGrant } from './lock-backend.js';
import { findHandle, runInFlow } from './lock-flow.js';
import { type HandleHost, LockHandle } from './lock-handle.js';
import type { LockLog } from './lock-log.js';
import { assertLockName } from './lock-name.js';
import type { LockScope } from './lock-scope.js';
import type { ResolvedLockOptions } from './options.js';
import { lostError, refusals } from './refusals.js';
import { Releases } from './releases.js';
import { Renewal } from './renewal.js';

export interface LockClientSettings {
  readonly defaults: ResolvedLockOptions;
  /** Callers of this process that may wait at once, over all names: behind another caller of it, or in the backend's queue. */
  readonly maxWaiters: number;
  /** How often a process may pass a lock on inside while other processes wait for it; 0 turns local hand-off off. */
  readonly maxLocalHandoffs: number;
}

/** One connection to a place of locks: every acquisition of a process goes through it. The facade of the core. */
export class LockClient implements LocalQueueHost, HandleHost {
  readonly defaults: ResolvedLockOptions;

  /** Random once, then a counter: 128 bits nobody can guess, and no entropy is spent per lock. */
  private readonly id = randomBytes(16).toString('base64url');
  private claimCount = 0;
  private readonly claims = new Map<string, Claim>();
  private readonly queues = new Map<string, LocalQueue>();
  /** Local queues of one caller each (`fairness: 'strict'`), and all others: whoever waits is found here on shutdown. */
  private readonly strictQueues = new Set<LocalQueue>();
  private readonly holds = new Map<Hold, LocalQueue>();
  private waiting = 0;
  private readonly releases: Releases;
  private readonly renewal: Renewal;
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
  }

  /** Connects. Rejects with LockUnavailableError when that fails; locks then reject until the backend is back, by itself. */
  start(): Promise<void> {
    return this.backend.start(this.id, {
      granted: (grant) => {
        this.granted(grant);
      },
      recovered: (what) => {
        for (const claim of this.claims.values()) claim.ask();
        if (what === 'messages') return;
        this.releases.repeat();
        this.renewal.repeat();
      },
    });
  }

  /** Takes the lock, or re-enters it when the running flow holds it (no command then). Does not open a flow. */
  async acquire(name: string, options: ResolvedLockOptions): Promise<LockHandle> {
    assertLockName(name);
    options.signal?.throwIfAborted();
    const outer = this.held(name);
    if (outer) return this.reenter(outer);
    if (this.closing && (this.closed || !this.current())) throw refusals.shuttingDown(name);
    const measured = channels.acquired.hasSubscribers ? this.clock.now() : undefined;
    const hold = await this.queueFor(name, options).join(options);
    if (hold.remaining() === 0) {
      // The event loop stood still between grant and here: an expired lock is none.
      void this.leave(hold);
      throw hold.lost!;
    }
    if (measured !== undefined) {
      channels.acquired.publish({ key: name, fencingToken: hold.fencingToken, waited: this.clock.now() - measured });
    }
    return new LockHandle(hold, 1, this);
  }

  /** Takes or re-enters the lock for one piece of work: run it in the answered scope, then leave. */
  async enter(name: string, options: ResolvedLockOptions): Promise<LockScope> {
    const lock = await this.acquire(name, options);
    return {
      lock,
      run: (fn) => runInFlow(lock, fn),
      leave: async (outcome) => {
        await lock.release();
        if (outcome === 'worked' && lock.hold.lost && options.onLost === 'throw') throw lock.hold.lost;
      },
    };
  }

  /** The innermost hold of the running flow on this client, or that of one name. */
  current(name?: string): Lock | undefined {
    return findHandle((handle) => handle.host === this && (name === undefined || handle.key === name));
  }

  /**
   * Rejects everybody who waits, lets running work end for up to `timeout` ms, gives back what is held, disconnects.
   * Work that already is inside a lock may still take further locks meanwhile.
   */
  shutdown(timeout: number): Promise<void> {
    this.closing ??= this.close(timeout);
    return this.closing;
  }

  async renew(hold: Hold, lease: number): Promise<void> {
    hold.lengthen(lease);
    const [reply] = await this.backend.renew([{ ...hold.renewal(this.clock.now()), lease }]);
    if (reply === 'unanswered') throw refusals.notRenewed(hold.name);
    hold.answered(reply!);
    if (hold.lost) throw hold.lost;
  }

  async leave(hold: Hold): Promise<void> {
    // Finds out about a lease that ran out while no timer could fire.
    hold.remaining();
    if (--hold.users > 0) return;
    const outcome = this.holds.get(hold)!.release(hold);
    this.renewal.remove(hold);
    if (outcome !== 'handed-on' && (await outcome) === 'lost' && !hold.lost) {
      hold.lost = lostError(hold.name, 'revoked');
      this.report(hold);
    }
    this.holds.delete(hold);
    if (channels.released.hasSubscribers) {
      const { name: key, fencingToken, acquiredAt } = hold;
      channels.released.publish({ key, fencingToken, held: this.clock.now() - acquiredAt });
    }
    if (this.holds.size === 0) this.onLastHoldEnded?.();
  }

  openClaim(name: string, owner: ClaimOwner): Claim {
    const id = `${this.id}:${(this.claimCount++).toString(36)}`;
    const claim = new Claim(name, id, owner, this.backend, this.releases, this.clock);
    this.claims.set(id, claim);
    return claim;
  }

  forgetClaim(claim: Claim): void {
    this.claims.delete(claim.claim);
  }

  countWaiting(name: string, change: 1 | -1): void {
    if (change > 0 && this.waiting >= this.settings.maxWaiters) {
      throw refusals.queueFull(name, this.waiting);
    }
    this.waiting += change;
  }

  holdStarted(hold: Hold, queue: LocalQueue): void {
    this.holds.set(hold, queue);
    this.renewal.add(hold);
  }

  holdLost(hold: Hold): void {
    this.renewal.remove(hold);
    this.report(hold);
  }

  queueEmptied(queue: LocalQueue): void {
    if (!this.strictQueues.delete(queue)) this.queues.delete(queue.name);
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
    if (options.fairness === 'strict') {
      const own = new LocalQueue(name, this);
      this.strictQueues.add(own);
      return own;
    }
    let queue = this.queues.get(name);
    if (!queue) this.queues.set(name, (queue = new LocalQueue(name, this)));
    return queue;
  }

  private held(name: string): LockHandle | undefined {
    return findHandle((handle) => handle.host === this && handle.key === name);
  }

  private granted(grant: PushedGrant): void {
    const claim = this.claims.get(grant.claim);
    if (claim) claim.receive(grant);
    // Given up meanwhile, or brought back by a failover: nobody here wants it.
    else void this.releases.release(grant, this.defaults.lease, 0);
  }

  private report(hold: Hold): void {
    const { name: key, fencingToken, lost } = hold;
    this.log.error(lost!.message);
    if (channels.lost.hasSubscribers) channels.lost.publish({ key, fencingToken, reason: lost!.reason });
  }

  private rejectWaiting(): void {
    const reason = refusals.shuttingDown();
    for (const queue of [...this.queues.values(), ...this.strictQueues]) queue.rejectWaiting(reason);
  }

  private async close(timeout: number): Promise<void> {
    this.rejectWaiting();
    if (this.holds.size > 0) {
      const ended = new Promise<void>((resolve) => (this.onLastHoldEnded = resolve));
      const late = new Promise<void>((resolve) => {
        const stop = this.clock.timer(timeout, resolve);
        void ended.then(stop);
      });
      await Promise.race([ended, late]);
    }
    this.closed = true;
    for (const hold of this.holds.keys()) hold.lose('shutdown');
    // Work that was inside a lock may have queued for another one meanwhile.
    this.rejectWaiting();
    await this.releases.settled();
    this.releases.stop();
    await this.backend.close();
  }
}
