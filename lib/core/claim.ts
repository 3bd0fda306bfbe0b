import { type LockError, LockUnavailableError } from '../errors/lock-errors.js';
import type { Clock } from './clock.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockBackend,
  LockDemand,
  LockKind,
  Outlook,
  PushedGrant,
  ReleaseReply,
} from './lock-backend.js';
import type { Releases } from './releases.js';

/** What a claim asks for: the terms of the caller that is first in line at the moment of asking. */
export interface ClaimTerms {
  readonly lease: number;
  readonly reserve: number;
  readonly enqueue: boolean;
  readonly giveUpAt: number;
}

export interface Grant extends Outlook {
  readonly fencingToken: number;
  readonly validUntil: number;
  /** It ends before the lease that its holder wants, unless a renewal comes soon: a pushed grant, or a predecessor's lease. */
  readonly provisional: boolean;
}

/** Whoever a claim is held for. */
export interface ClaimOwner {
  terms(): ClaimTerms;
  granted(grant: Grant): void;
  /** The lock is held by somebody else, and the terms were not to wait. */
  contended(rest: number): void;
  /** It stands in the backend's queue. */
  queued(): void;
  /** The first question went unanswered and nothing is known, or the lock cannot be had at all. */
  refused(error: LockError): void;
}

/** What a claim needs from its client. */
export interface ClaimHost {
  readonly backend: LockBackend;
  readonly releases: Releases;
  readonly clock: Clock;
}

/**
 * One request for a lock name, from the first question to the release: asks, keeps asking while it is queued, takes the
 * grant from whichever side it comes first (answer or message), and gives everything back exactly once.
 */
export class Claim implements AcquireRequest {
  lease = 0;
  reserve = 0;
  enqueue = false;
  again = false;
  giveUpAt = 0;
  /** As in ReleaseRequest; set by the release. */
  keepUntil = 0;
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
    private readonly demand: LockDemand,
    private readonly owner: ClaimOwner,
    private readonly host: ClaimHost,
  ) {}

  get kind(): LockKind {
    return this.demand.kind;
  }

  get permits(): number {
    return this.demand.permits;
  }

  get limit(): number {
    return this.demand.limit;
  }

  /** Whether an answer said that others hold the lock, or that this claim does. */
  get decided(): boolean {
    return this.phase !== 'new';
  }

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
    this.reserve = terms.reserve;
    // Who stands in the queue stays in it; a later caller with other terms takes the place over.
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

  /** A message says that the lock was granted to this claim. */
  receive(grant: PushedGrant): void {
    if (!this.isWanted()) return;
    const { fencingToken, validUntil, tokensUntil } = grant;
    this.heard = true;
    if (validUntil !== undefined) {
      this.take(fencingToken, { validUntil, tokensUntil, othersWait: false }, true);
      return;
    }
    this.phase = 'confirming';
    void this.confirm(fencingToken);
  }

  /**
   * Gives up whatever this claim has or may still get. Safe at any moment.
   * Answers what the backend knew of it; `unanswered` when it could not be asked (it will be, beside).
   * @param keepUntil until when nobody else shall get the lock all the same
   */
  release(keepUntil = 0): Promise<ReleaseReply | 'unanswered'> {
    this.keepUntil = keepUntil;
    this.close();
    return this.host.releases.release(this, this.lease, this.lateUntil);
  }

  /** Gives up a claim that was not granted: released where it may have left something at the backend, else merely closed. */
  abandon(): void {
    if (this.asking || this.phase !== 'new' || this.lateUntil > 0) void this.release();
    else this.close();
  }

  /** Nothing but its release is sent for it from now on. */
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
      // The caller that asked may have left; the next one may want a longer lease.
      this.take(reply.fencingToken, reply, this.owner.terms().lease > this.lease);
    } else if (this.phase === 'confirming') {
      return;
    } else if (reply.status === 'contended') {
      this.owner.contended(reply.rest);
    } else {
      this.phase = 'queued';
      this.owner.queued();
      // Nobody here may be ready to wait.
      if (this.isWanted()) this.askAt(this.askAgain ? 0 : reply.askAt);
    }
  }

  private failed(error: LockError): void {
    this.asking = false;
    this.heard = false;
    const uncertain = error instanceof LockUnavailableError && error.uncertain;
    // Sent by now; and the server's clock is known to within the time that an answer may take.
    if (uncertain) this.lateUntil = this.host.clock.now() + 2 * this.host.backend.commandTimeout;
    if (this.phase === 'closed') {
      // Its release may have been executed before the lost question is.
      if (uncertain) void this.host.releases.release(this, this.lease, this.lateUntil);
    } else if (this.phase === 'new' || (this.phase === 'queued' && !(error instanceof LockUnavailableError))) {
      this.owner.refused(error);
    } else if (this.phase === 'queued') {
      this.askAt(this.host.clock.now() + this.host.backend.claimWindow / 3);
    }
  }

  private async confirm(fencingToken: number): Promise<void> {
    const { name, claim, lease } = this;
    const [reply] = await this.host.backend.renew([{ name, claim, fencingToken, lease, reserve: this.reserve }]);
    if (this.phase !== 'confirming') return;
    if (typeof reply === 'object') {
      this.take(fencingToken, reply, this.owner.terms().lease > lease);
      return;
    }
    // Its turn passed unheard. The claim may stand in the queue again.
    this.phase = 'queued';
    this.askAt(reply === 'lost' ? 0 : this.host.clock.now() + this.host.backend.claimWindow / 3);
  }

  private take(
    fencingToken: number,
    { validUntil, tokensUntil, othersWait }: Outlook & Pick<Grant, 'validUntil'>,
    provisional: boolean,
  ): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.phase = 'granted';
    // Spelled out: an object that is spread and added to gets a shape of its own each time, and whoever reads it is slow.
    this.owner.granted({ fencingToken, validUntil, provisional, tokensUntil, othersWait });
  }

  private askAt(at: number): void {
    this.askAgain = false;
    this.stopTimer?.();
    this.stopTimer = this.host.clock.timer(Math.max(0, at - this.host.clock.now()), () => {
      this.ask();
    });
  }
}
