import { LockUnavailableError } from '../errors/lock-errors.js';
import type { Clock } from './clock.js';
import type { AcquireReply, AcquireRequest, LockBackend, PushedGrant, ReleaseReply } from './lock-backend.js';
import type { Releases } from './releases.js';

/** What a claim asks for: the terms of the caller that is first in line at the moment of asking. */
export interface ClaimTerms {
  readonly lease: number;
  readonly enqueue: boolean;
  readonly giveUpAt: number;
}

export interface Grant {
  readonly fencingToken: number;
  readonly validUntil: number;
  /** A pushed grant is provisional: it ends soon unless a renewal confirms it. */
  readonly provisional: boolean;
}

/** Whoever a claim is held for. */
export interface ClaimOwner {
  terms(): ClaimTerms;
  granted(grant: Grant): void;
  /** The lock is held by somebody else, and the terms were not to wait. */
  contended(rest: number): void;
  /** The first question went unanswered: nothing is known, nobody stands in the queue for certain. */
  unavailable(error: LockUnavailableError): void;
}

/**
 * One request for a lock name, from the first question to the release: asks, keeps asking while it is queued, takes the
 * grant from whichever side it comes first (answer or message), and gives everything back exactly once.
 */
export class Claim implements AcquireRequest {
  lease = 0;
  enqueue = false;
  again = false;
  giveUpAt = 0;
  /** Whether the last question was answered: who times out after silence was not simply waiting too long. */
  heard = false;

  private phase: 'new' | 'queued' | 'confirming' | 'granted' | 'closed' = 'new';
  private asking = false;
  private askAgain = false;
  /** Until when a question that went unanswered may still be executed; 0 when there is none. */
  private lateUntil = 0;
  private stopTimer: (() => void) | undefined;

  constructor(
    readonly name: string,
    readonly claim: string,
    private readonly owner: ClaimOwner,
    private readonly backend: LockBackend,
    private readonly releases: Releases,
    private readonly clock: Clock,
  ) {}

  isWanted(): boolean {
    return this.phase === 'new' || this.phase === 'queued';
  }

  /** Asks, or asks again: a queued claim keeps its place. */
  ask(): void {
    if (!this.isWanted()) return;
    if (this.asking) {
      this.askAgain = true;
      return;
    }
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.asking = true;
    const terms = this.owner.terms();
    this.lease = terms.lease;
    // Who stands in the queue stays in it; a later caller with other terms takes the place over.
    this.again = this.phase === 'queued';
    this.enqueue = terms.enqueue || this.again;
    this.giveUpAt = terms.giveUpAt;
    const sentAt = this.clock.now();
    this.backend.acquire(this).then(
      (reply) => {
        this.answered(reply);
      },
      (error: unknown) => {
        this.failed(error as LockUnavailableError, sentAt);
      },
    );
  }

  /** A message says that the lock was granted to this claim. */
  receive(grant: PushedGrant): void {
    if (!this.isWanted()) return;
    const { fencingToken, validUntil } = grant;
    this.heard = true;
    if (validUntil !== undefined) {
      this.take({ fencingToken, validUntil, provisional: true });
      return;
    }
    this.phase = 'confirming';
    void this.confirm(fencingToken);
  }

  /**
   * Gives up whatever this claim has or may still get. Safe at any moment.
   * Answers what the backend knew of it; `unanswered` when it could not be asked (it will be, beside).
   */
  async release(): Promise<ReleaseReply | 'unanswered'> {
    this.close();
    return await this.releases.release(this, this.lease, this.lateUntil);
  }

  /** Ends a claim that has left nothing at the backend. */
  close(): void {
    this.phase = 'closed';
    this.stopTimer?.();
    this.stopTimer = undefined;
  }

  private answered(reply: AcquireReply): void {
    this.asking = false;
    // Closed: the release travels behind the question. Granted: the message was faster.
    if (this.phase === 'closed' || this.phase === 'granted') return;
    this.heard = true;
    if (reply.status === 'granted') {
      this.take({ fencingToken: reply.fencingToken, validUntil: reply.validUntil, provisional: false });
    } else if (this.phase === 'confirming') {
      return;
    } else if (reply.status === 'contended') {
      this.owner.contended(reply.rest);
    } else {
      this.phase = 'queued';
      this.askAt(this.askAgain ? 0 : reply.askAt);
    }
  }

  private failed(error: LockUnavailableError, sentAt: number): void {
    this.asking = false;
    this.heard = false;
    if (error.uncertain) this.lateUntil = sentAt + this.backend.commandTimeout;
    if (this.phase === 'closed') {
      // Its release may have been executed before the lost question is.
      if (error.uncertain) void this.releases.release(this, this.lease, this.lateUntil);
    } else if (this.phase === 'new') {
      this.owner.unavailable(error);
    } else if (this.phase === 'queued') {
      this.askAt(this.clock.now() + this.backend.claimWindow / 3);
    }
  }

  private async confirm(fencingToken: number): Promise<void> {
    const { name, claim, lease } = this;
    const [reply] = await this.backend.renew([{ name, claim, fencingToken, lease }]);
    if (this.phase !== 'confirming') return;
    if (typeof reply === 'number') {
      this.take({ fencingToken, validUntil: reply, provisional: false });
      return;
    }
    // Its turn passed unheard. The claim may stand in the queue again.
    this.phase = 'queued';
    this.askAt(reply === 'lost' ? 0 : this.clock.now() + this.backend.claimWindow / 3);
  }

  private take(grant: Grant): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.phase = 'granted';
    this.owner.granted(grant);
  }

  private askAt(at: number): void {
    this.askAgain = false;
    this.stopTimer?.();
    this.stopTimer = this.clock.timer(Math.max(0, at - this.clock.now()), () => {
      this.ask();
    });
  }
}
