import type { LockLostError, LockLostReason } from '../errors/lock-errors.js';
import type { Grant } from './claim.js';
import type { Clock } from './clock.js';
import type { DueMember } from './due-heap.js';
import type { ClaimRef, LockDemand, ReleaseReply, RenewReply, RenewRequest } from './lock-backend.js';
import type { ResolvedLockOptions } from './options.js';
import { lostError } from './refusals.js';

/** The claim that a hold rests on. */
export interface HeldClaim extends ClaimRef, LockDemand {
  /** @param keepUntil until when nobody else shall get the lock all the same */
  release(keepUntil?: number): Promise<ReleaseReply | 'unanswered'>;
}

/** Where a hold came from: told of a loss before the holder's signal is, and of the end. */
export interface HoldOwner {
  holdLost(hold: Hold): void;
  /** The last user has left. Answers what became of the lock: passed on inside the process, or what the backend said. */
  release(hold: Hold): 'handed-on' | Promise<ReleaseReply | 'unanswered'>;
  /** It goes on in another process, with its claim: those who wait behind it here ask for themselves. */
  moved(hold: Hold): void;
}

/** Pause (ms) before an unanswered renewal is tried again: several tries fit into the shortest provisional grant. */
const longestRetryPause = 250;

/**
 * A lock that is held by this process: the grant, how long it is certain, and everybody inside who uses it.
 * States: held → lost (time or backend says so) → ended, or held → ended by the release. Never back.
 */
export class Hold implements DueMember {
  place = -1;
  readonly fencingToken: number;
  readonly lease: number;
  /** Class and method that hold it, for messages. */
  readonly where: string | undefined;
  readonly acquiredAt: number;
  /** `Clock.now()` up to which nobody else holds the lock. */
  validUntil: number;
  /** When the watchdog has to renew, or to confirm a provisional grant. */
  renewAt: number;
  /** Handles that were given out and not released yet: a re-entry is one more. */
  users = 0;
  lost: LockLostError | undefined;

  /** End of `minHold`: before it nobody else gets the lock, though the work is done. 0 when there is none. */
  keepUntil: number;

  /** End of `maxHold`. */
  private endsAt: number;
  /** A fixed lease ends here, also when the backend would let this process have the lock for longer; infinite when it is renewed. */
  private fixedEnd: number;
  private controller: AbortController | undefined;

  constructor(
    readonly claim: HeldClaim,
    grant: Grant,
    options: ResolvedLockOptions,
    private readonly clock: Clock,
    readonly owner: HoldOwner,
  ) {
    this.fencingToken = grant.fencingToken;
    this.lease = options.lease;
    this.where = options.where;
    const now = (this.acquiredAt = clock.now());
    this.fixedEnd = options.renew ? Number.POSITIVE_INFINITY : now + options.lease;
    this.validUntil = Math.min(grant.validUntil, this.fixedEnd);
    this.endsAt = now + options.maxHold;
    this.keepUntil = options.minHold > 0 ? now + options.minHold : 0;
    if (grant.provisional) this.renewAt = now + Math.max(0, grant.validUntil - now) / 3;
    else this.renewAt = this.nextRenewal(now);
  }

  get name(): string {
    return this.claim.name;
  }

  /** It was taken together with others, and the last of them is there: a fixed lease, `maxHold` and `minHold` count from here. */
  begin({ renew, lease, maxHold, minHold }: ResolvedLockOptions): void {
    const now = this.clock.now();
    this.endsAt = now + maxHold;
    if (minHold > 0) this.keepUntil = now + minHold;
    if (renew) return;
    this.fixedEnd = now + lease;
    this.validUntil = Math.min(this.validUntil, this.fixedEnd);
    // Where the others took long to get, the backend's lease is brought to its length, once.
    this.renewAt = this.fixedEnd - this.validUntil > lease / 10 ? now : Number.POSITIVE_INFINITY;
  }

  /** The moment at which the watchdog must have looked at this hold. */
  get dueAt(): number {
    return Math.min(this.renewAt, this.validUntil, this.endsAt);
  }

  /** Milliseconds of certain lease. Reads the clock, and finds out about a loss before any timer did. */
  remaining(): number {
    if (this.users === 0 || this.lost) return 0;
    const now = this.clock.now();
    if (now >= this.validUntil) this.lose('expired');
    else if (now >= this.endsAt) this.lose('max-hold');
    else return Math.min(this.validUntil, this.endsAt) - now;
    return 0;
  }

  lose(reason: Exclude<LockLostReason, 'adopted'>): void {
    if (this.users === 0 || this.lost) return;
    this.lost = lostError(this.name, reason, this.where);
    this.owner.holdLost(this);
    this.controller?.abort(this.lost);
  }

  /** What the next renewal asks for. A fixed lease is confirmed up to its end, not beyond. */
  renewal(now: number, reserve = 0): RenewRequest {
    const lease = this.renewed ? this.lease : Math.max(1, Math.ceil(this.fixedEnd - now));
    return { name: this.name, claim: this.claim.claim, fencingToken: this.fencingToken, lease, reserve };
  }

  /** What a renewal by hand asks for. A fixed lease may last up to `lease` ms from now, then. */
  lengthening(lease: number, now: number): RenewRequest {
    this.fixedEnd = Math.max(this.fixedEnd, now + lease);
    return { ...this.renewal(now), lease };
  }

  /** Takes in what the backend said to a renewal. `unanswered` is no loss: the lease runs on, and the renewal is tried again. */
  answered(reply: RenewReply): void {
    const now = this.clock.now();
    if (reply === 'lost') this.lose('revoked');
    else if (reply === 'unanswered') this.renewAt = now + Math.min(this.lease / 12, longestRetryPause);
    else {
      this.validUntil = Math.max(this.validUntil, Math.min(reply.validUntil, this.fixedEnd));
      this.renewAt = this.nextRenewal(now);
    }
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      this.remaining();
      if (this.lost) this.controller.abort(this.lost);
      makeExact(this.controller.signal, () => this.remaining());
    }
    return this.controller.signal;
  }

  private get renewed(): boolean {
    return this.fixedEnd === Number.POSITIVE_INFINITY;
  }

  private nextRenewal(now: number): number {
    return this.renewed ? now + this.lease / 3 : Number.POSITIVE_INFINITY;
  }
}

/**
 * Makes the signal ask the clock whenever it is looked at: after a blocked event loop it must say 'aborted' before the timer, and so
 * the event, had a chance to come.
 * @param look aborts it when it is time
 */
export function makeExact(signal: AbortSignal, look: () => void): void {
  const inherited = Object.getOwnPropertyDescriptors(AbortSignal.prototype);
  const exact = (get: () => unknown): PropertyDescriptor => ({
    configurable: true,
    get: () => {
      look();
      return get.call(signal);
    },
  });
  Object.defineProperties(signal, {
    aborted: exact(inherited.aborted.get!),
    reason: exact(inherited.reason.get!),
    throwIfAborted: exact(() => inherited.throwIfAborted.value),
  });
}
