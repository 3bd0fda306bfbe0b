import { AskingClaim } from '../../core/asking-claim.js';
import type { ClaimTerms } from '../../core/claim.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockDemand,
  PresentHolder,
  PushedGrant,
  ReleaseReply,
  RenewReply,
} from '../../core/lock-backend.js';
import type { LockError } from '../../errors/lock-errors.js';
import { countsUntil } from './quorum-rules.js';
import { quorumRefusals } from './quorum.messages.js';
import type { QuorumNode, Refusal } from './quorum-node.js';

/** A node holds the lock for this claim. */
export interface Vote {
  /** The node's own token. Tokens of different nodes come from different clocks. */
  readonly token: number;
  /** Each later grant of this node gets a larger token than this. */
  tokensUntil: number;
  /** On this process's clock; undefined when the age of the vote is unknown: it has to be confirmed. */
  validUntil: number | undefined;
  /** It lapses soon unless it is confirmed. */
  provisional: boolean;
  othersWait: boolean;
}

/** The owner of node claims: a claim over all nodes. */
export interface NodeClaimOwner {
  terms(): ClaimTerms;
  isWanted(): boolean;
  /** A node claim has changed. */
  changed(): void;
}

/**
 * One claim at one node, under an id that is used once: a vote that was given back is never requested again under its old id, so that a
 * late release cannot free a vote that counts.
 */
export class NodeClaim extends AskingClaim implements AcquireRequest {
  lease = 0;
  reserve = 0;
  enqueue = false;
  again = false;
  giveUpAt = 0;
  /** As in ReleaseRequest; set by the release. */
  keepUntil = 0;

  vote: Vote | undefined;
  /** The result of the last request. */
  outcome: 'none' | 'answered' | 'failed' = 'none';
  error: LockError | undefined;
  /** The reply was a vote that came too late to count. */
  ranOut = false;
  /** Rest of the other holder's lease in ms, and when to ask again, as in the node's last reply. */
  rest = 0;
  askAt = Number.POSITIVE_INFINITY;
  /** Who has the vote, as in that reply. */
  holder: PresentHolder | undefined;

  /** A grant was pushed while a request was open: the reply may be older than the grant. */
  private pushedMeanwhile = false;
  private standsInQueue = false;
  /** True when the node may know this claim. */
  private sent = false;
  private closed = false;

  constructor(
    name: string,
    id: string,
    demand: LockDemand,
    readonly node: QuorumNode,
    private readonly owner: NodeClaimOwner,
  ) {
    super(name, id, demand);
    node.enter(this);
  }

  /** True while a request is open. */
  get isOpen(): boolean {
    return this.asking;
  }

  isWanted(): boolean {
    return !this.closed && this.owner.isWanted();
  }

  /** Asks the node, or asks again: a claim in its queue keeps its position. */
  ask(): void {
    if (this.closed) return;
    const refused = this.asking ? undefined : this.node.refusal(this.name);
    if (refused) return this.refuse(refused);
    if (!this.begin()) return;
    const { lease, reserve, enqueue, giveUpAt } = this.owner.terms();
    this.lease = lease;
    this.reserve = reserve;
    this.enqueue = enqueue;
    this.again = this.standsInQueue;
    this.giveUpAt = Math.min(giveUpAt, this.node.now() + this.node.backend.commandTimeout);
    this.outcome = 'none';
    this.ranOut = false;
    this.askAt = Number.POSITIVE_INFINITY;
    this.holder = undefined;
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

  /** The node has granted the lock to this claim by a message: the claim was the first in its queue. */
  receive(grant: PushedGrant): void {
    const { fencingToken, tokensUntil, validUntil } = grant;
    if (this.vote && this.vote.token >= fencingToken) return;
    this.pushedMeanwhile = this.asking;
    this.vote = { token: fencingToken, tokensUntil, validUntil, provisional: true, othersWait: false };
    if (!this.asking) this.outcome = 'answered';
    this.owner.changed();
  }

  /**
   * Extends the vote to a full lease, and makes the node give out no further tokens up to `token`.
   * @param reserve tokens wanted behind `token`, for local hand-offs
   */
  async confirm(token: number, lease: number, reserve: number): Promise<void> {
    const vote = this.vote!;
    const request = {
      name: this.name,
      id: this.id,
      fencingToken: vote.token,
      lease,
      reserve: reserve === 0 ? 0 : token - vote.token + reserve,
      least: token,
    };
    const [reply] = await this.node.backend.renew([request]);
    if (this.closed || this.vote !== vote) return;
    this.renewed(reply!);
    if (reply === 'lost') this.ask();
    else if (reply === 'unanswered' || vote.tokensUntil < token) {
      // The state is unknown until the next reply.
      this.vote = undefined;
      this.fail(quorumRefusals.notConfirmed(this.name, this.node.label));
    }
  }

  /** Drops a vote that has expired. Not contention either: the node replied too slowly for this lease. */
  dropVoteAt(now: number, lease: number): void {
    const { validUntil = Number.POSITIVE_INFINITY } = this.vote ?? {};
    if (this.outcome !== 'answered' || countsUntil(validUntil, lease) > now) return;
    this.vote = undefined;
    this.ranOut = true;
    this.error = quorumRefusals.ranOut(this.name, this.node.label, lease);
  }

  /** Applies the node's reply to a renewal of the vote. */
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
   * Ends the claim and releases all that it has or may still get. Undefined when the node cannot know the claim.
   * @param keepUntil until when the node gives its vote to no other claim
   */
  close(keepUntil = 0): Promise<ReleaseReply | 'unanswered'> | undefined {
    this.closed = true;
    this.keepUntil = keepUntil;
    this.node.leave(this);
    return this.sent ? this.node.releases.release(this, this.lease, this.lateUntil) : undefined;
  }

  private answered(reply: AcquireReply): void {
    this.asking = false;
    // The release travels behind the request.
    if (this.closed) return;
    // A request that waits for the connection is executed by a node that was started in that time, perhaps without its data.
    const refused = reply.status === 'granted' ? this.node.refusal(this.name) : undefined;
    if (refused) {
      this.refuse(refused);
      return this.settled();
    }
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
      this.holder = reply.holder;
      if (reply.status === 'queued') this.askAt = reply.askAt;
      else this.rest = reply.leaseLeft;
    }
    this.settled();
  }

  private failed(error: LockError, sentBefore: boolean): void {
    if (this.failedAt(this.node.now(), error, this.node.backend.commandTimeout)) {
      // Its release may have been executed before the lost request is.
      if (this.closed) void this.node.releases.release(this, this.lease, this.lateUntil);
    } else this.sent = sentBefore;
    if (this.closed) return;
    this.fail(error);
    this.settled();
  }

  private refuse({ error, until }: Refusal): void {
    this.fail(error);
    this.askAt = until;
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
