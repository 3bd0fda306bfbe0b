import type { LockAcquireContext } from '../diagnostics/channels.js';
import type { LockError, LockHolder } from '../errors/lock-errors.js';
import { setImmediate } from '../diagnostics/platform.js';
import { Caller } from './caller.js';
import type { CallOptions } from './options.js';
import type { Grant } from './asking-claim.js';
import { Claim, type ClaimOwner, type ClaimTerms } from './claim.js';
import { partyOf, traceSuffix } from './claim-id.js';
import { holderOf } from './lock-info.js';
import type { Clock } from './clock.js';
import { Hold, type HoldOwner } from './hold.js';
import { LinkedList } from './linked-list.js';
import {
  exclusive,
  isReachable,
  type LockBackend,
  type LockDemand,
  type PresentHolder,
  type ReleaseReply,
} from './lock-backend.js';
import { type FlowNode, handlesOf } from './lock-flow.js';
import { LockHandle } from './lock-handle.js';
import type { Observation } from './observation.js';
import { refusals } from './refusals.js';
import { HandOffBudget } from './hand-off-budget.js';

/** Fencing tokens to reserve for local hand-offs: more than a process can use up within one round trip. */
const tokenBlock = 256;

/** What a local queue needs from its client. */
export interface LocalQueueHost {
  readonly clock: Clock;
  readonly backend: LockBackend;
  readonly observation: Observation;
  /**
   * A claim with a fresh id. The client knows it, so that pushed grants find it.
   * @param suffix the part of the id that names the caller
   */
  openClaim(queue: LocalQueue, suffix: string): Claim;
  /** A caller begins (+1) or ends (-1) to wait. @throws LockQueueFullError when too many wait already. */
  countWaiting(name: string, change: 1 | -1, caller?: string): void;
  holdStarted(hold: Hold): void;
  /** The hold is due earlier or later than before. */
  rescheduled(hold: Hold): void;
  /** The handle of a caller that has got the lock. */
  handleOf(hold: Hold): LockHandle;
  holdLost(hold: Hold): void;
  /** From now on only the claim's release is sent. */
  claimEnded(queue: LocalQueue, claim: Claim): void;
}

/**
 * The callers of one process for one lock name, in order of arrival. They share one claim in the backend's queue: a thousand requests for
 * one product are one waiter there. When a caller stops waiting, the claim keeps its place for the next one. When a caller releases, the
 * next one may continue with the same claim (local hand-off, see HandOffBudget).
 */
export class LocalQueue implements ClaimOwner, HoldOwner {
  /** Asks, waits or holds at the backend for all callers here. */
  claim: Claim | undefined;
  private readonly callers = new LinkedList<Caller>();
  private hold: Hold | undefined;
  private budget: HandOffBudget | undefined;
  /** A caller had to wait here: hand-offs are likely. */
  private contested = false;
  /** Callers with `wait` above 0. */
  private waiting = 0;
  /** Callers that ever joined, and how many of them had joined when the last request was sent. */
  private joined = 0;
  private joinedAtQuestion = 0;
  /** Replies and messages from the backend. */
  private answers = 0;
  /** Who held the lock when the last reply came. */
  private blocker: { readonly holder: PresentHolder; readonly seenAt: number } | undefined;

  constructor(
    readonly name: string,
    private readonly host: LocalQueueHost,
    readonly demand: LockDemand = exclusive,
    /** True when it is for one caller only (`fairness: 'strict'`); else for all exclusive callers. */
    readonly strict = false,
  ) {}

  /** The callers that wait behind others, in order of arrival. */
  *waitingCallers(): Iterable<Caller> {
    for (const caller of this.callers) if (caller.counted) yield caller;
  }

  get isEmpty(): boolean {
    return this.callers.size === 0;
  }

  /**
   * Resolves to the lock when it is the caller's turn. Rejects with a LockError, or with the reason of the caller's signal.
   * @param around the locks that the caller is inside of
   * @param request what subscribers see of the call
   */
  join(options: CallOptions, around?: FlowNode, request?: LockAcquireContext): Promise<LockHandle> {
    return new Promise((settle, reject) => {
      const caller = new Caller(options, this.host.clock, settle, reject, request, around);
      if (options.wait === 0 && this.claim?.decided) throw this.contendedFor(caller);
      const { claim } = this;
      if (claim) {
        this.contested = true;
        // Until its first reply the lock may be free.
        if (claim.decided) this.tellContended(caller);
        if (caller.waits) this.count(caller);
      }
      caller.position = this.joined++;
      if (!claim || (!this.hold && claim.isOwed)) caller.answersBefore = this.answers;
      // The first request settles in time by itself: no timer for a lock that is free.
      if (claim || options.signal)
        this.watch(caller, claim ? this.host.backend.commandTimeout : Number.POSITIVE_INFINITY);
      this.callers.push(caller);
      if (caller.waits) this.waiting++;
      if (!claim) this.openClaim();
    });
  }

  terms(): ClaimTerms {
    // A claim is closed when its last caller leaves, so a claim that asks has a first caller.
    const { options, giveUpAt } = this.callers.first!;
    this.joinedAtQuestion = this.joined;
    // A caller that waits must not stand behind callers that do not: other processes would overtake it.
    const enqueue = this.waiting > 0;
    return { lease: options.lease, reserve: this.contested ? tokenBlock : 0, enqueue, giveUpAt };
  }

  granted(grant: Grant): void {
    this.answers++;
    // Without reserved tokens the lock cannot be passed on.
    if (grant.tokensUntil > grant.fencingToken) this.budget = new HandOffBudget(grant, this.host.clock);
    const { request } = this.callers.first!;
    if (request && grant.pushed) request.handOff = 'remote';
    const { acquiredAt } = this.serve(this.callers.first!, grant);
    if (!grant.pushed) this.host.observation.answered(acquiredAt);
    if (this.isEmpty) return;
    this.refuseImpatient();
    for (const caller of this.callers) this.tellContended(caller);
  }

  queued(holder: PresentHolder | undefined): void {
    this.answers++;
    this.blockedBy(holder);
    // They need no place among those that wait.
    this.refuseImpatient();
    for (const caller of this.callers) {
      if (!this.callers.has(caller)) continue;
      this.tellContended(caller);
      this.watch(caller);
      if (!caller.counted) this.makeRoomFor(caller);
    }
  }

  contended(rest: number, holder: PresentHolder | undefined): void {
    this.answers++;
    this.blockedBy(holder);
    // The reply holds for all callers that had joined when the request was sent. For a later caller the lock may have been freed since.
    for (const caller of this.callers) {
      if (caller.waits || caller.position >= this.joinedAtQuestion) continue;
      this.remove(caller);
      caller.reject(this.contendedFor(caller, rest));
    }
    // The claim has no record at the backend and its request is over: the next caller asks with a new claim.
    this.next();
  }

  refused(error: LockError): void {
    this.host.observation.isDoubted = true;
    let callers = [...this.callers];
    const now = this.host.clock.now();
    // The first caller had too little time to learn more. Callers with more time ask again at once, not one after another, a command
    // time-out each.
    if (error.code === 'LOCK_UNAVAILABLE' && now >= callers[0]!.giveUpAt)
      callers = callers.filter(({ giveUpAt }) => now >= giveUpAt);
    for (const caller of callers) this.remove(caller);
    this.claim!.abandon();
    this.next();
    for (const caller of callers) caller.reject(error);
  }

  /** The outermost user of the hold has left: passes the lock on, or releases it and asks anew for the callers that wait here. */
  release(hold: Hold): 'handed-on' | Promise<ReleaseReply | 'unanswered'> {
    // A lost hold was released when it was lost, except at `maxHold`.
    if (hold.lost && hold.lost.reason !== 'max-hold') return Promise.resolve('absent');
    const caller = this.hold === hold ? this.callers.first : undefined;
    const keep = hold.keepUntil > 0 && hold.keepUntil > this.host.clock.now();
    const { budget } = this;
    const grant = caller && !keep && !isStrict(caller) && !isStrict(hold) && budget?.handOff(hold);
    if (grant) {
      if (caller.request) caller.request.handOff = 'local';
      this.serve(caller, grant, budget!.mustYield());
      if (budget!.renewing) budget!.renewAgain = true;
      else void this.renewBeside(budget!);
      return 'handed-on';
    }
    const reply = hold.claim.release(keep ? hold.keepUntil : 0);
    // At once: both commands travel in one packet.
    if (this.hold === hold) this.next();
    return reply;
  }

  moved(hold: Hold): void {
    if (this.hold !== hold) return;
    // Not closed: a request of this claim that fails later must not release it.
    const claim = this.claim!;
    this.claim = undefined;
    this.host.claimEnded(this, claim);
    this.next();
  }

  /** Rejects all callers that wait. A holder keeps the lock. */
  rejectWaiting(reason: unknown): void {
    for (const caller of this.callers) this.leave(caller, reason);
  }

  private serve(caller: Caller, grant: Grant, yielding = false): Hold {
    const hold = new Hold(this.claim!, grant, caller.options, this.host.clock, this);
    this.hold = hold;
    this.remove(caller);
    this.host.holdStarted(hold);
    if (yielding) setImmediate(() => this.settle(caller, hold));
    else this.settle(caller, hold);
    return hold;
  }

  private settle(caller: Caller, hold: Hold): void {
    const lock = this.host.handleOf(hold);
    if (hold.leaseLeft() > 0) return caller.settle(lock);
    // The event loop stood still since the grant, and the lease has expired.
    void lock.release();
    caller.reject(hold.lost);
  }

  /**
   * Renews after a local hand-off while the new holder works: restores the lease, reserves tokens, and learns whether other clients wait.
   * One renewal at a time; one more behind it covers all hand-offs until its reply. A renewal that fails is left to the watchdog, which
   * confirms each of these holds.
   */
  private async renewBeside(budget: HandOffBudget): Promise<void> {
    budget.renewing = true;
    budget.renewAgain = false;
    const [reply] = await this.host.backend.renew([this.hold!.renewal(this.host.clock.now(), tokenBlock)]);
    budget.renewing = false;
    if (this.budget !== budget) return;
    budget.learn(reply!);
    // The reply is true for the present holder, too, though the request was sent for an earlier one.
    const hold = this.hold!;
    hold.answered(reply!);
    this.host.rescheduled(hold);
    // `answered` may have found the lock lost, which ends the budget.
    if (budget.renewAgain && this.budget === budget) void this.renewBeside(budget);
  }

  holdLost(hold: Hold): void {
    this.host.holdLost(hold);
    if (this.hold !== hold) return;
    // At `maxHold` the lock expires instead of being released: the work that hangs has the rest of the lease to stop. After any other loss
    // it is released, since a renewal under way may have extended the lease at the backend. `minHold` also counts for work that was
    // cut off, unless the lock is another's.
    const { reason } = hold.lost!;
    if (reason !== 'max-hold') void hold.claim.release(reason === 'revoked' ? 0 : hold.keepUntil);
    else if (hold.keepUntil > hold.validUntil) void hold.claim.release(hold.keepUntil);
    this.next();
  }

  private next(): void {
    this.hold = undefined;
    this.budget = undefined;
    this.closeClaim();
    if (this.callers.size > 0) this.openClaim();
  }

  private openClaim(): void {
    const { options, request } = this.callers.first!;
    this.claim = this.host.openClaim(this, (options.callerSuffix ?? '') + (request ? traceSuffix(request.trace) : ''));
    this.claim.ask();
  }

  private closeClaim(): void {
    const { claim } = this;
    if (!claim) return;
    claim.close();
    this.claim = undefined;
    this.host.claimEnded(this, claim);
  }

  private watch(caller: Caller, longestTry = Number.POSITIVE_INFINITY): void {
    caller.watch(
      longestTry,
      () => {
        this.leave(caller, this.tooLate(caller));
      },
      (reason) => {
        this.leave(caller, reason);
      },
    );
  }

  /**
   * Tells contended from unavailable: the backend is silent when a reply is due for `commandTimeout`, or for all of the wait while the
   * connection is lost. A younger request is on its way.
   */
  private tooLate(caller: Caller): LockError {
    const {
      waits,
      answersBefore,
      name,
      options: { wait },
    } = caller;
    const { commandTimeout } = this.host.backend;
    if (!waits) return refusals.silence(this.name, 'commandTimeout', commandTimeout, name);
    const isLost = answersBefore === this.answers && !isReachable(this.host.backend);
    const silent = !this.hold && (isLost || this.claim!.silence >= commandTimeout);
    if (silent) return refusals.silence(this.name, 'wait', wait, name);
    // Subscribers see the holder that the error names.
    this.tellContended(caller);
    const rest = this.hold ? this.hold.leaseLeft() : this.blockerLeft;
    const refusal = this.isOfOwnFlow(caller) ? refusals.waitsForItself : refusals.waitedTooLong;
    return refusal(this.name, wait, rest, this.holder, name);
  }

  private leave(caller: Caller, reason: unknown): void {
    if (!this.remove(caller)) return;
    const { claim } = this;
    if (this.callers.size === 0 && claim && !this.hold) {
      claim.abandon();
      this.closeClaim();
    }
    caller.reject(reason);
  }

  private remove(caller: Caller): boolean {
    if (!this.callers.remove(caller)) return false;
    if (caller.waits) this.waiting--;
    if (caller.counted) this.host.countWaiting(this.name, -1);
    caller.stop();
    return true;
  }

  /** Counts a caller that was the first here until now. When too many wait, the one that came last is refused, not the first. */
  private makeRoomFor(caller: Caller): void {
    const latest = this.callers.last!;
    try {
      this.count(caller, latest);
    } catch (error) {
      this.leave(latest, error);
      if (latest !== caller) this.makeRoomFor(caller);
    }
  }

  /** @throws LockQueueFullError for `refused` */
  private count(caller: Caller, refused = caller): void {
    this.host.countWaiting(this.name, 1, refused.name);
    caller.counted = true;
  }

  /** @param holder as of a reply that came now */
  private blockedBy(holder: PresentHolder | undefined): void {
    this.blocker = holder && { holder, seenAt: this.host.clock.now() };
  }

  /** Who holds the lock: a caller of this process, or a claim of another one as of the last reply. */
  get holder(): LockHolder | undefined {
    const { hold, blocker } = this;
    // The claim is the one of the first caller here.
    if (hold) return { ...partyOf(hold.claim.id), trace: undefined, ...hold.user };
    if (!blocker) return undefined;
    const { heldFor } = blocker.holder;
    return holderOf({
      ...blocker.holder,
      heldFor: heldFor === undefined ? undefined : heldFor + this.host.clock.now() - blocker.seenAt,
    });
  }

  /** The rest of its lease, where the last reply told it. */
  private get blockerLeft(): number | undefined {
    const { blocker } = this;
    const left = blocker?.holder.leaseLeft;
    return left === undefined ? undefined : Math.max(0, Math.floor(left + blocker!.seenAt - this.host.clock.now()));
  }

  /** True when the caller is inside the lock that it requests: another client of this process holds it. */
  private isOfOwnFlow({ around }: Caller): boolean {
    for (const handle of handlesOf(around))
      if (LockHandle.holdOf(handle).claim.id === this.blocker?.holder.id) return true;
    return false;
  }

  private tellContended({ request }: Caller): void {
    if (request) this.host.observation.contended(request, this.holder);
  }

  /** The end of a call that must not wait. @param rest of the holder's lease, in ms */
  private contendedFor(caller: Caller, rest = this.hold?.leaseLeft()): LockError {
    this.tellContended(caller);
    if (this.isOfOwnFlow(caller)) return refusals.waitsForItself(this.name, 0, rest, this.holder, caller.name);
    return refusals.contended(this.name, rest, this.holder, caller.name);
  }

  /** Rejects callers with one try that stood behind an open request: another claim holds the lock. */
  private refuseImpatient(): void {
    for (const caller of this.callers) {
      if (!caller.waits) this.leave(caller, this.contendedFor(caller));
    }
  }
}

/** Other processes may ask before the lock is given to it, or after it. */
const isStrict = ({ options }: Caller | Hold): boolean => options.fairness === 'strict';
