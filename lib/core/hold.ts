import type { LockHoldContext } from '../diagnostics/channels.js';
import type { LockLostError, LockParty } from '../errors/lock-errors.js';
import type { Grant } from './asking-claim.js';
import { certainUntil, type Clock } from './clock.js';
import { callerOf } from '../errors/describe.js';
import type { ClaimRef, LockDemand, ReleaseReply, RenewReply, RenewRequest } from './lock-backend.js';
import type { ResolvedLockOptions } from './options.js';
import { type losses, lostError } from './refusals.js';
import { makeExact } from './on-abort.js';
import { inRoot } from './root-context.js';
import type { Renewable, WorkerLease } from './watchdog.js';

/** How much (ms) of a fixed lease may be missing: by the drift of clocks, and a usual round trip. @param rest of what was requested */
const mostMissing = (rest: number): number => rest / 50 + 10;

/** When a lease is extended that is shorter than requested: there is time for more than one try, and short work needs none. */
const thirdOfRest = (now: number, validUntil: number): number => now + Math.max(0, validUntil - now) / 3;

/** The claim that a hold rests on. */
export interface HeldClaim extends ClaimRef, LockDemand {
  /** The longest lease (ms) that was requested for it: the backend may remember the claim for so long. */
  longestLease: number;
  /** @param keepUntil until when no other claim gets the lock although it was released */
  release(keepUntil?: number): Promise<ReleaseReply | 'unanswered'>;
}

/** Where a hold came from. It learns of a loss before the holder's signal aborts, and of the end. */
export interface HoldOwner {
  holdLost(hold: Hold): void;
  /** The last user has left. Returns the outcome: the lock was passed on inside the process, or the backend's reply. */
  release(hold: Hold): 'handed-on' | Promise<ReleaseReply | 'unanswered'>;
  /** The hold continues in another process, with its claim: callers that wait behind it here ask for themselves. */
  moved(hold: Hold): void;
}

/** Pause (ms) before an unanswered renewal is tried again: several tries fit into the shortest provisional grant. */
const longestRetryPause = 250;

/**
 * A lock that this process holds: the grant, how long it is certain, and all its users.
 * States: held → lost (by time, or the backend reports it) → ended, or held → ended by the release. Never back.
 */
export class Hold implements Renewable {
  heapIndex = -1;
  readonly fencingToken: number;
  readonly acquiredAt: number;
  /** `validUntil` as this thread's requests made it. */
  private certain: number;
  /** When the watchdog has to renew the lease, or confirm a provisional grant. */
  renewAt: number;
  /** Handles that were given out and are not released yet. A re-entry is one more. */
  private users = 1;
  /** Of those, what only `release()` of the handle itself ends, until they are watched (see ForgottenHandles). */
  private outermost: object | undefined;
  private reentries: Set<object> | undefined;
  /** Handles of it have been taken to be watched. */
  private isWatched = false;
  private isForgotten = false;
  /** Why it was lost; undefined while it is held, and after its users released it. */
  lost: LockLostError | undefined;

  /** From when `maxHold` and `minHold` count, if that is not the grant. */
  private begunAt: number | undefined;
  /** End of a fixed lease, even if the backend's lease is longer; undefined when the lease is renewed. */
  private fixedEnd: number | undefined;
  /** The backend has granted the lock for the claim window, and no reply has confirmed it since. */
  provisional: boolean;
  private controller: AbortController | undefined;
  /** The second watchdog over it (`renewFrom: 'worker'`). */
  private worker: WorkerLease | undefined;
  /** What subscribers see of it; undefined without subscribers. */
  context: LockHoldContext | undefined;

  constructor(
    readonly claim: HeldClaim,
    grant: Grant,
    /** The terms of its caller. */
    public options: ResolvedLockOptions,
    private readonly clock: Clock,
    readonly owner: HoldOwner,
  ) {
    this.fencingToken = grant.fencingToken;
    const now = (this.acquiredAt = clock.now());
    if (!options.renew) this.fixedEnd = now + options.lease;
    this.certain = this.withinFixed(grant.validUntil);
    this.provisional = grant.provisional;
    this.renewAt = grant.provisional ? thirdOfRest(now, grant.validUntil) : this.nextRenewal(now, grant.validUntil);
  }

  get name(): string {
    return this.claim.name;
  }

  /** `Clock.now()` until which no other claim can hold the lock. */
  get validUntil(): number {
    return this.worker ? Math.max(this.certain, this.worker.validUntil) : this.certain;
  }

  /** Milliseconds. */
  get lease(): number {
    return this.options.lease;
  }

  /** Who holds it now, for views and errors. Its claim may be the one of an earlier caller of this process. */
  get user(): Pick<LockParty, 'method' | 'label'> & { readonly fencingToken: number; readonly heldFor: number } {
    const { method, label } = this.options;
    return { method, label, fencingToken: this.fencingToken, heldFor: Math.floor(this.clock.now() - this.acquiredAt) };
  }

  /** Class and method that hold it, and the label of the call. */
  get caller(): string | undefined {
    return callerOf(this.options.method, this.options.label);
  }

  /** End of `minHold`: until then no other claim gets the lock, even if the work is done. 0 without `minHold`. */
  get keepUntil(): number {
    return this.options.minHold > 0 ? (this.begunAt ?? this.acquiredAt) + this.options.minHold : 0;
  }

  /** End of `maxHold`. */
  get endsAt(): number {
    return (this.begunAt ?? this.acquiredAt) + this.options.maxHold;
  }

  /** True until its last user leaves, even if it is lost. */
  get isUsed(): boolean {
    return this.users > 0;
  }

  /** True when its renewal is late by half of the lease: the first is due after a third, and a sixth is left. */
  isOverdue(now: number): boolean {
    return this.fixedEnd === undefined && !this.provisional && this.validUntil - now < this.lease / 6;
  }

  /** True while a re-entry is inside. */
  get isReentered(): boolean {
    return this.users > 1;
  }

  /** One more user. @throws LockLostError */
  enter(): void {
    // After a stalled event loop no timer has seen the loss yet.
    this.leaseLeft();
    if (this.lost) throw this.lost;
    this.users++;
  }

  /** One user less. @returns true when it was the last. */
  leave(): boolean {
    this.leaseLeft();
    return --this.users === 0;
  }

  /** Keeps the handle of a caller that has to release it, until it is watched. */
  keep(handle: object): void {
    if (this.users === 1 && !this.isWatched) this.outermost = handle;
    else (this.reentries ??= new Set()).add(handle);
  }

  /** A handle is released. @returns true when it may be watched */
  drop(handle: object): boolean {
    if (handle === this.outermost) this.outermost = undefined;
    else this.reentries?.delete(handle);
    return this.isWatched;
  }

  /** The handles that were kept. From now on only their callers do. */
  takeHandles(): readonly object[] {
    const { outermost, reentries } = this;
    if (!outermost && !reentries) return [];
    this.isWatched = true;
    this.outermost = this.reentries = undefined;
    return [outermost, ...(reentries ?? [])].filter((handle) => handle !== undefined);
  }

  /** A handle was collected that was not released. Without other users the lock ends with its lease: its work may still run. */
  forget(): void {
    if (this.users > 1) {
      this.users--;
      return;
    }
    this.isForgotten = true;
    this.unwatched();
    this.fixedEnd = this.certain;
    this.renewAt = Number.POSITIVE_INFINITY;
  }

  /** The hold continues in another process. */
  end(): void {
    this.users = 0;
  }

  /** The backend did not know the claim when it was released: another holder may have worked. */
  endedByOthers(): void {
    this.lost = lostError(this.name, 'revoked', this.caller);
  }

  /**
   * The last of several locks that are taken together is there: a fixed lease, `maxHold` and `minHold` count from here.
   * @param latest `wholeUntil` of the one that came last
   */
  begin(options: ResolvedLockOptions, latest: number): void {
    const now = this.clock.now();
    this.options = options;
    this.begunAt = now;
    if (options.renew) return this.tellWorker();
    this.fixedEnd = now + options.lease;
    this.certain = this.withinFixed(this.certain);
    // Extends, once, the lease of a name that came earlier or was handed over. Leases from one command differ by less than a millisecond.
    this.renewAt = this.provisional || latest - this.validUntil > 1 ? now : this.nextRenewal(now, this.certain);
  }

  /** The end of the certain lease, or of the lease once it is confirmed. */
  get wholeUntil(): number {
    return this.provisional ? certainUntil(this.clock.now(), this.lease) : this.validUntil;
  }

  /** When the watchdog must look at this hold. */
  get dueAt(): number {
    return Math.min(this.renewAt, this.validUntil, this.endsAt);
  }

  /** Milliseconds of certain lease. Reads the clock, and so sees a loss before a timer does. */
  leaseLeft(): number {
    if (this.users === 0 || this.lost) return 0;
    const now = this.clock.now();
    const finding = this.worker?.finding;
    if (finding === 'lost') this.lose('revoked');
    // After a blocked event loop both may be over: the earlier one is the reason.
    else if (now >= this.endsAt && this.endsAt <= this.validUntil) this.lose('max-hold');
    else if (now >= this.validUntil) this.lose(finding ?? (this.isForgotten ? 'forgotten' : 'expired'));
    else return Math.min(this.validUntil, this.endsAt) - now;
    return 0;
  }

  lose(reason: keyof typeof losses): void {
    if (this.users === 0 || this.lost) return;
    this.lost = lostError(this.name, reason, this.caller);
    // The loss may be found in the context of another request. The owner comes first: listeners of the signal must not delay the release
    // and the next caller. `isHeld` and `signal.aborted` show the loss already.
    inRoot(() => {
      this.owner.holdLost(this);
      this.controller?.abort(this.lost);
    });
  }

  /** The next renewal. A fixed lease is confirmed up to its end, not beyond. */
  renewal(now: number, reserve = 0): RenewRequest {
    const lease = this.fixedEnd === undefined ? this.lease : Math.max(1, Math.ceil(this.fixedEnd - now));
    return this.request(lease, reserve);
  }

  /** A renewal by hand. A fixed lease may then last up to `lease` ms from now. */
  lengthening(lease: number, now: number): RenewRequest {
    if (this.fixedEnd !== undefined) this.fixedEnd = Math.max(this.fixedEnd, now + lease);
    return this.request(lease, 0);
  }

  /** The watchdog has sent a renewal. The next one is scheduled without waiting for the reply, which may take most of the lease. */
  renewalSent(now: number): void {
    this.renewAt = this.nextRenewal(now, Number.POSITIVE_INFINITY);
  }

  /** Applies the reply to a renewal. `unanswered` is not a loss: the lease runs on, and the renewal is repeated. */
  answered(reply: RenewReply): void {
    // It stays lost, from the moment of its loss.
    if (this.lost) return;
    const now = this.clock.now();
    if (reply === 'lost') this.lose('revoked');
    else if (reply === 'unanswered') {
      this.renewAt = Math.min(this.renewAt, now + Math.min(this.lease / 12, longestRetryPause));
    } else {
      this.provisional = false;
      this.certain = Math.max(this.certain, this.withinFixed(reply.validUntil));
      this.renewAt = Math.max(this.renewAt, this.nextRenewal(now, reply.validUntil));
      this.tellWorker();
    }
  }

  /** From now on a worker renews it, too. */
  watchedBy(worker: WorkerLease): void {
    this.worker = worker;
    this.tellWorker();
  }

  /** The hold is over. */
  unwatched(): void {
    this.worker?.end();
    this.worker = undefined;
  }

  private tellWorker(): void {
    this.worker?.tell(this.certain, this.endsAt);
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      this.leaseLeft();
      if (this.lost) this.controller.abort(this.lost);
      makeExact(this.controller.signal, () => this.leaseLeft());
    }
    return this.controller.signal;
  }

  private withinFixed(end: number): number {
    return this.fixedEnd === undefined ? end : Math.min(end, this.fixedEnd);
  }

  /** A third of the lease after the request was sent, not after its reply. `validUntil` counts from the sending too, and so contains it. */
  private nextRenewal(now: number, validUntil: number): number {
    if (this.fixedEnd !== undefined) {
      // It is not renewed, except once where the reply came late: the work has as long as it requested.
      const isShort = this.fixedEnd - validUntil > mostMissing(this.fixedEnd - now);
      return isShort ? thirdOfRest(now, validUntil) : Number.POSITIVE_INFINITY;
    }
    return Math.min(now, validUntil - certainUntil(0, this.lease)) + this.lease / 3;
  }

  private request(lease: number, reserve: number): RenewRequest {
    const { name, claim, fencingToken } = this;
    claim.longestLease = Math.max(claim.longestLease, lease);
    return { name, id: claim.id, fencingToken, lease, reserve };
  }
}
