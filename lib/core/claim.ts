import { type LockError, LockUnavailableError } from '../errors/lock-errors.js';
import { AskingClaim, type Grant } from './asking-claim.js';
import type { Clock } from './clock.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockBackend,
  LockDemand,
  Outlook,
  PresentHolder,
  PushedGrant,
  ReleaseReply,
} from './lock-backend.js';
import type { Releases } from './releases.js';

/** The terms of a claim: those of the caller that is first in line when the claim asks. */
export interface ClaimTerms {
  readonly lease: number;
  readonly reserve: number;
  readonly enqueue: boolean;
  readonly giveUpAt: number;
}

/** The owner of a claim: gets its grant, or its refusal. */
export interface ClaimOwner {
  terms(): ClaimTerms;
  granted(grant: Grant): void;
  /** Another claim holds the lock, and the terms were not to wait. */
  contended(rest: number, holder: PresentHolder | undefined): void;
  /** The claim is in the backend's queue. */
  queued(holder: PresentHolder | undefined): void;
  /** The first request had no reply and its outcome is unknown, or the lock cannot be taken at all. */
  refused(error: LockError): void;
}

/** What a claim needs from its client. */
export interface ClaimHost {
  readonly backend: LockBackend;
  readonly releases: Releases;
  readonly clock: Clock;
}

/**
 * One request for a lock name, from the first `acquire` to the release. It asks, asks again while it is queued, and takes the grant from
 * the reply or the message, the earlier of the two. It releases everything exactly once.
 */
export class Claim extends AskingClaim implements AcquireRequest {
  lease = 0;
  /** As in HeldClaim. */
  longestLease = 0;
  reserve = 0;
  enqueue = false;
  again = false;
  giveUpAt = 0;
  /** As in ReleaseRequest; set by the release. */
  keepUntil = 0;
  /** Since when a reply is due; asking again does not restart it. */
  private silentSince: number | undefined;

  private phase: 'new' | 'queued' | 'confirming' | 'granted' | 'closed' = 'new';
  /** A request or a confirmation had no reply: the lease of a grant may have begun then. */
  private unsure = false;
  /** When it asks again, by its timer. While a request is open: the time that a message has named. */
  private next: { readonly at: number; readonly stop: (() => void) | undefined } | undefined;

  constructor(
    name: string,
    id: string,
    demand: LockDemand,
    private readonly owner: ClaimOwner,
    private readonly host: ClaimHost,
  ) {
    super(name, id, demand);
  }

  /** True once a reply or a message said that this claim, or another one, holds the lock. */
  get decided(): boolean {
    return this.phase !== 'new';
  }

  /** True while a reply is due, or when the last request failed. */
  get isOwed(): boolean {
    return this.silentSince !== undefined;
  }

  /** Milliseconds since when a reply is due; infinite after a failure. */
  get silence(): number {
    return this.silentSince === undefined ? 0 : this.host.clock.now() - this.silentSince;
  }

  isWanted(): boolean {
    return this.phase === 'new' || this.phase === 'queued';
  }

  /** Asks, or asks again: a queued claim keeps its place. */
  ask(): void {
    if (!this.isWanted() || !this.begin()) return;
    this.stop();
    this.silentSince ??= this.host.clock.now();
    const terms = this.owner.terms();
    this.lease = terms.lease;
    this.longestLease = Math.max(this.longestLease, terms.lease);
    this.reserve = terms.reserve;
    // A queued claim stays in the queue, even when a later caller with other terms takes it over.
    this.again = this.phase === 'queued';
    this.enqueue = terms.enqueue || this.again;
    this.giveUpAt = terms.giveUpAt;
    this.host.backend.acquire(this).then(
      (reply) => {
        this.answered(reply);
      },
      (error: unknown) => {
        this.failed(error as LockError);
      },
    );
  }

  /** A message says that the claim should ask at this time. */
  askBy(at: number): void {
    if (!this.isWanted() || at >= this.asksAt) return;
    // The reply to the open request may be older than the message.
    if (this.asking) this.next = { at, stop: undefined };
    else if (at <= this.host.clock.now()) this.ask();
    else this.askAt(at);
  }

  /** A message says that the lock was granted to this claim. */
  receive(grant: PushedGrant): void {
    if (!this.isWanted()) return;
    const { fencingToken, validUntil, tokensUntil } = grant;
    this.silentSince = undefined;
    if (validUntil !== undefined) {
      this.take(fencingToken, { validUntil, tokensUntil, othersWait: false }, true, true);
      return;
    }
    this.phase = 'confirming';
    void this.confirm(fencingToken);
  }

  /**
   * Ends the claim and releases all that it has or may still get. Safe at any moment.
   * Resolves to what the backend knew of the claim; `unanswered` when the first release had no reply (it is repeated in the background).
   * @param keepUntil until when no other claim gets the lock although it was released
   */
  release(keepUntil = 0): Promise<ReleaseReply | 'unanswered'> {
    this.keepUntil = keepUntil;
    this.close();
    return this.host.releases.release(this, this.longestLease, this.lateUntil);
  }

  /** Ends a claim without a grant: releases it where it may have left a record at the backend, else closes it. */
  abandon(): void {
    if (this.asking || this.phase !== 'new' || this.lateUntil > 0) void this.release();
    else this.close();
  }

  /** From now on only the claim's release is sent. */
  close(): void {
    this.phase = 'closed';
    this.stop();
  }

  private answered(reply: AcquireReply): void {
    this.asking = false;
    // Closed: the release travels behind the request. Granted: the message was faster.
    if (this.phase === 'closed' || this.phase === 'granted') return;
    this.silentSince = undefined;
    if (reply.status === 'granted') {
      // The caller that asked may have left; the next one may want a longer lease.
      this.take(reply.fencingToken, reply, this.unsure || this.owner.terms().lease > this.lease, false);
    } else if (this.phase === 'confirming') {
      return;
    } else if (reply.status === 'contended') {
      this.owner.contended(reply.leaseLeft, reply.holder);
    } else {
      this.phase = 'queued';
      this.owner.queued(reply.holder);
      // Perhaps no caller here wants to wait.
      if (this.isWanted()) this.askAt(this.askAgain ? 0 : Math.min(reply.askAt, this.asksAt));
    }
  }

  private failed(error: LockError): void {
    const { backend, clock } = this.host;
    const uncertain = this.failedAt(clock.now(), error, backend.commandTimeout);
    this.silentSince = Number.NEGATIVE_INFINITY;
    this.unsure ||= uncertain;
    if (this.phase === 'closed') {
      // Its release may have been executed before the lost request is.
      if (uncertain) void this.host.releases.release(this, this.longestLease, this.lateUntil);
    } else if (this.phase === 'new' || (this.phase === 'queued' && !(error instanceof LockUnavailableError))) {
      this.owner.refused(error);
    } else if (this.phase === 'queued') {
      this.askAt(Math.min(this.asksAt, clock.now() + backend.claimWindow / 3));
    }
  }

  private async confirm(fencingToken: number): Promise<void> {
    const { name, id: claim, lease } = this;
    const [reply] = await this.host.backend.renew([{ name, id: claim, fencingToken, lease, reserve: this.reserve }]);
    if (this.phase !== 'confirming') return;
    if (typeof reply === 'object') {
      this.take(fencingToken, reply, this.owner.terms().lease > lease, true);
      return;
    }
    if (reply === 'unanswered') this.unsure = true;
    // The grant has lapsed. The claim may be in the queue again.
    this.phase = 'queued';
    this.askAt(reply === 'lost' ? 0 : this.host.clock.now() + this.host.backend.claimWindow / 3);
  }

  private take(
    fencingToken: number,
    { validUntil, tokensUntil, othersWait }: Outlook & Pick<Grant, 'validUntil'>,
    provisional: boolean,
    pushed: boolean,
  ): void {
    this.stop();
    this.phase = 'granted';
    // Literal, not spread: keeps one hidden class.
    this.owner.granted({ fencingToken, validUntil, provisional, pushed, tokensUntil, othersWait });
  }

  private askAt(at: number): void {
    this.askAgain = false;
    this.next?.stop?.();
    const stop = this.host.clock.timer(Math.max(0, at - this.host.clock.now()), () => {
      this.ask();
    });
    this.next = { at, stop };
  }

  private get asksAt(): number {
    return this.next?.at ?? Number.POSITIVE_INFINITY;
  }

  private stop(): void {
    this.next?.stop?.();
    this.next = undefined;
  }
}
