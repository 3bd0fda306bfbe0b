import type { RenewReply, RenewRequest } from '../../core/lock-backend.js';
import type { NodeClaim, Vote } from './node-claim.js';
import type { QuorumClaim } from './quorum-claim.js';
import { countsUntil, reachedBy, type QuorumRules } from './quorum-rules.js';
import type { QuorumNode } from './quorum-node.js';

/**
 * One hold in one renewal: decided as soon as a majority of the nodes has confirmed it, or cannot any more.
 *
 * It rests on the votes of its election. Later votes may replace votes whose nodes are silent, but never lost votes: between the loss and
 * the later vote another claim may have been granted, and this holder would not notice.
 */
export class QuorumRenewal {
  reply: RenewReply | undefined;
  /** Nodes that have lost a vote of this hold. */
  readonly lost: QuorumNode[] = [];
  /** The node claims to renew, with the votes that they had when it began. */
  readonly votes: ReadonlyMap<NodeClaim, Vote>;
  private readonly confirmed: Vote[] = [];
  /** Confirmed, but won too late to count. */
  private readonly late: Vote[] = [];
  private unanswered = 0;

  constructor(
    readonly request: RenewRequest,
    private readonly claim: QuorumClaim | undefined,
    private readonly rules: QuorumRules,
  ) {
    this.votes = new Map(
      (claim?.held(request.fencingToken) ?? []).flatMap((nodeClaim) =>
        nodeClaim.vote ? [[nodeClaim, nodeClaim.vote]] : [],
      ),
    );
    for (const vote of this.votes.values()) if (this.counts(vote)) this.unanswered++;
    this.decide();
  }

  /** The request to the node of this claim: tokens are counted from its own one. */
  requestTo(nodeClaim: NodeClaim): RenewRequest {
    const { name, id: claim } = nodeClaim;
    const { fencingToken, lease, reserve } = this.request;
    const { token } = this.votes.get(nodeClaim)!;
    if (reserve === 0) return { name, id: claim, fencingToken: token, lease, reserve };
    const ahead = Math.max(0, fencingToken - token);
    return { name, id: claim, fencingToken: token, lease, reserve: ahead + reserve, least: fencingToken };
  }

  take(nodeClaim: NodeClaim, reply: RenewReply): void {
    const vote = this.votes.get(nodeClaim)!;
    // The vote has changed since: the node's reply is about an earlier one.
    if (reply === 'unanswered' || nodeClaim.vote !== vote) return;
    const counts = this.counts(vote);
    nodeClaim.renewed(reply);
    if (counts) this.unanswered--;
    if (reply === 'lost') this.lost.push(nodeClaim.node);
    else (counts ? this.confirmed : this.late).push(vote);
    if (this.reply === undefined) this.decide();
    else if (typeof this.reply !== 'object') return;
    else if (reply === 'lost') this.claim!.askForMissingVotes();
    else this.claim!.countVote(vote);
  }

  /** All nodes have replied, or will not in time. */
  end(): RenewReply {
    const all = [...this.confirmed, ...this.late];
    if (all.length >= this.rules.majority) this.reply ??= this.confirmation(all);
    this.reply ??= 'unanswered';
    if (typeof this.reply === 'object') {
      for (const vote of this.late) this.claim!.countVote(vote);
      this.claim!.askForMissingVotes();
    }
    return this.reply;
  }

  private counts(vote: Vote): boolean {
    return this.claim!.countsVote(vote);
  }

  private decide(): void {
    const { confirmed, rules } = this;
    if (confirmed.length + this.unanswered < rules.majority) this.reply = 'lost';
    else if (confirmed.length >= rules.majority) this.reply = this.confirmation(confirmed);
  }

  private confirmation(votes: readonly Vote[]): RenewReply {
    const { rules, request } = this;
    const reached = (values: number[]): number => reachedBy(values, rules.majority);
    return {
      validUntil: reached(votes.map(({ validUntil }) => countsUntil(validUntil!, request.lease))),
      tokensUntil: reached(votes.map(({ tokensUntil }) => tokensUntil)),
      othersWait: votes.some(({ othersWait }) => othersWait),
    };
  }
}
