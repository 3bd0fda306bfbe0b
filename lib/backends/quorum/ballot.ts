import type {
  AcquireReply,
  AcquireRequest,
  LockDemand,
  LockKind,
  PushedGrant,
  ReleaseReply,
  RenewReply,
} from '../../core/lock-backend.js';
import { type LockError, LockUnavailableError } from '../../errors/lock-errors.js';
import { countsUntil } from './majority.js';
import { quorumRefusals } from './quorum.messages.js';
import type { QuorumNode } from './quorum-node.js';

/** That a node holds the lock for this claim. */
export interface Vote {
  /** The node's own token. Tokens of different nodes come from different clocks. */
  readonly token: number;
  /** Every later grant of this node gets a larger token than this. */
  tokensUntil: number;
  /** On this process's clock; undefined when it is not known how old the vote is: it has to be confirmed. */
  validUntil: number | undefined;
  /** It lapses soon unless it is confirmed. */
  provisional: boolean;
  othersWait: boolean;
}

/** What the claim asks its nodes for. */
export interface Terms {
  readonly lease: number;
  readonly reserve: number;
  readonly enqueue: boolean;
  readonly giveUpAt: number;
}

/** Whoever stands for election. */
export interface BallotOwner {
  terms(): Terms;
  isWanted(): boolean;
  /** A ballot has learned something. */
  changed(): void;
}

/**
 * One claim at one node, under an id that is used once: a vote that was given back is never asked for again under its old id, so
 * that a release which arrives late can free nothing that counts.
 */
export class Ballot implements AcquireRequest {
  readonly kind: LockKind;
  readonly permits: number;
  readonly limit: number;
  lease = 0;
  reserve = 0;
  enqueue = false;
  again = false;
  giveUpAt = 0;
  /** As in ReleaseRequest; set by the release. */
  keepUntil = 0;

  vote: Vote | undefined;
  /** What became of the last question. */
  outcome: 'none' | 'answered' | 'failed' = 'none';
  error: LockError | undefined;
  /** The answer was a vote, and came too late to be one. */
  ranOut = false;
  /** Rest of the other holder's lease in ms, and when to ask again, as the node said last. */
  rest = 0;
  askAt = Number.POSITIVE_INFINITY;

  private asking = false;
  private askAgain = false;
  /** A grant was pushed while a question was under way: the answer may be older than it. */
  private pushedMeanwhile = false;
  private standsInQueue = false;
  /** Whether the node may know of this ballot. */
  private sent = false;
  private closed = false;
  /** Until when a question that went unanswered may still be executed; 0 when there is none. */
  private lateUntil = 0;

  constructor(
    readonly name: string,
    readonly claim: string,
    { kind, permits, limit }: LockDemand,
    readonly node: QuorumNode,
    private readonly owner: BallotOwner,
  ) {
    this.kind = kind;
    this.permits = permits;
    this.limit = limit;
    node.enter(this);
  }

  /** Whether the answer to a question is still to come. */
  get isOpen(): boolean {
    return this.asking;
  }

  isWanted(): boolean {
    return !this.closed && this.owner.isWanted();
  }

  /** Asks the node, or asks again: a ballot in its queue keeps its place. */
  ask(): void {
    if (this.closed) return;
    if (this.asking) {
      this.askAgain = true;
      return;
    }
    const { lease, reserve, enqueue, giveUpAt } = this.owner.terms();
    const refused = this.node.refusal(this.name);
    if (refused) {
      this.fail(refused.error);
      this.askAt = refused.until;
      return;
    }
    this.lease = lease;
    this.reserve = reserve;
    this.enqueue = enqueue;
    this.again = this.standsInQueue;
    this.giveUpAt = Math.min(giveUpAt, this.node.now() + this.node.backend.commandTimeout);
    this.outcome = 'none';
    this.ranOut = false;
    this.askAt = Number.POSITIVE_INFINITY;
    this.asking = true;
    this.askAgain = false;
    this.pushedMeanwhile = false;
    const sentBefore = this.sent;
    this.sent = true;
    this.node.backend.acquire(this).then(
      (reply) => {
        this.answered(reply);
      },
      (error: unknown) => {
        this.failed(error as LockError, sentBefore);
      },
    );
  }

  /** The node has granted the lock to this ballot by itself: it was the first in the node's queue. */
  receive(grant: PushedGrant): void {
    const { fencingToken, tokensUntil, validUntil } = grant;
    if (this.vote && this.vote.token >= fencingToken) return;
    this.pushedMeanwhile = this.asking;
    this.vote = { token: fencingToken, tokensUntil, validUntil, provisional: true, othersWait: false };
    if (!this.asking) this.outcome = 'answered';
    this.owner.changed();
  }

  /**
   * Makes the vote last a full lease, and lets the node give no token up to `token` any more.
   * @param reserve tokens behind `token` that no other holder may get either
   */
  async confirm(token: number, lease: number, reserve: number): Promise<void> {
    const vote = this.vote!;
    const request = {
      name: this.name,
      claim: this.claim,
      fencingToken: vote.token,
      lease,
      reserve: token - vote.token + reserve,
    };
    const [reply] = await this.node.backend.renew([request]);
    if (this.closed || this.vote !== vote) return;
    this.renewed(reply!);
    if (reply === 'lost') this.ask();
    else if (reply === 'unanswered' || vote.tokensUntil < token + reserve) {
      // Nothing to go by, until the next question is answered.
      this.vote = undefined;
      this.fail(quorumRefusals.notConfirmed(this.name, this.node.label));
    }
  }

  /** What has run out is no vote any more, and nobody else's either: the node answered too slowly for this lease. */
  dropVoteAt(now: number, lease: number, driftFactor: number): void {
    const { validUntil = Number.POSITIVE_INFINITY } = this.vote ?? {};
    if (this.outcome !== 'answered' || countsUntil(validUntil, lease, driftFactor) > now) return;
    this.vote = undefined;
    this.ranOut = true;
    this.error = quorumRefusals.ranOut(this.name, this.node.label, lease);
  }

  /** Takes in what the node said to a renewal of the vote. */
  renewed(reply: RenewReply): void {
    if (reply === 'unanswered' || !this.vote) return;
    if (reply === 'lost') {
      this.vote = undefined;
      this.standsInQueue = false;
      return;
    }
    this.vote.validUntil = reply.validUntil;
    this.vote.tokensUntil = Math.max(this.vote.tokensUntil, reply.tokensUntil);
    this.vote.provisional = false;
    this.vote.othersWait = reply.othersWait;
  }

  /**
   * Gives up whatever this ballot has or may still get. The answer is undefined when the node cannot know of it.
   * @param keepUntil until when the node shall give its vote to nobody else all the same
   */
  close(keepUntil = 0): Promise<ReleaseReply | 'unanswered'> | undefined {
    this.closed = true;
    this.keepUntil = keepUntil;
    this.node.leave(this);
    return this.sent ? this.node.releases.release(this, this.lease, this.lateUntil) : undefined;
  }

  private answered(reply: AcquireReply): void {
    this.asking = false;
    // The release travels behind the question.
    if (this.closed) return;
    this.outcome = 'answered';
    this.error = undefined;
    if (reply.status === 'granted') {
      const { fencingToken: token, tokensUntil, validUntil, othersWait } = reply;
      const given = { token, tokensUntil, validUntil, provisional: false, othersWait };
      // The same vote as before remains the same object.
      if (this.vote?.token === token) Object.assign(this.vote, given);
      else this.vote = given;
    } else if (!this.pushedMeanwhile) {
      this.vote = undefined;
      this.standsInQueue = reply.status === 'queued';
      if (reply.status === 'queued') this.askAt = reply.askAt;
      else this.rest = reply.rest;
    }
    this.settled();
  }

  private failed(error: LockError, sentBefore: boolean): void {
    this.asking = false;
    if (error instanceof LockUnavailableError && error.uncertain) {
      // Sent by now; and the server's clock is known to within the time that an answer may take.
      this.lateUntil = this.node.now() + 2 * this.node.backend.commandTimeout;
      // Its release may have been executed before the lost question is.
      if (this.closed) void this.node.releases.release(this, this.lease, this.lateUntil);
    } else this.sent = sentBefore;
    if (this.closed) return;
    this.fail(error);
    this.settled();
  }

  private fail(error: LockError | undefined): void {
    this.outcome = 'failed';
    this.error = error;
  }

  private settled(): void {
    if (this.askAgain) this.ask();
    this.owner.changed();
  }
}
