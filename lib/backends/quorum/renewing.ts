import type { RenewReply, RenewRequest } from '../../core/lock-backend.js';
import type { Ballot, Vote } from './ballot.js';
import type { Candidacy } from './candidacy.js';
import { countsUntil, reachedBy } from './majority.js';
import type { QuorumNode } from './quorum-node.js';
import type { QuorumRules } from './quorum-rules.js';

/**
 * One hold in one renewal: decided as soon as a majority of the nodes has confirmed it, or cannot any more.
 *
 * What it rests on are the votes of its election. Those that came later take the place of votes whose nodes are silent, never of
 * votes that are lost: between the loss and the later vote another may have been elected, and this holder must not learn nothing of it.
 */
export class Renewing {
  reply: RenewReply | undefined;
  /** Nodes that have lost a vote of this hold. */
  readonly lost: QuorumNode[] = [];
  /** The ballots to renew, with the votes that they had when it began. */
  readonly votes: ReadonlyMap<Ballot, Vote>;
  private readonly confirmed: Vote[] = [];
  /** Confirmed, but won too late to count. */
  private readonly late: Vote[] = [];
  private unanswered = 0;

  constructor(
    readonly request: RenewRequest,
    private readonly candidacy: Candidacy | undefined,
    private readonly rules: QuorumRules,
  ) {
    this.votes = new Map(
      (candidacy?.held(request.fencingToken) ?? []).flatMap((ballot) => (ballot.vote ? [[ballot, ballot.vote]] : [])),
    );
    for (const vote of this.votes.values()) if (this.counts(vote)) this.unanswered++;
    this.decide();
  }

  /** What the node of this ballot is asked for: tokens are counted from its own one. */
  requestTo(ballot: Ballot): RenewRequest {
    const { name, claim } = ballot;
    const { fencingToken, lease, reserve } = this.request;
    const { token } = this.votes.get(ballot)!;
    const ahead = this.rules.fencing ? Math.max(0, fencingToken - token) : 0;
    return { name, claim, fencingToken: token, lease, reserve: reserve === 0 ? 0 : ahead + reserve };
  }

  take(ballot: Ballot, reply: RenewReply): void {
    const vote = this.votes.get(ballot)!;
    // Another vote is there meanwhile, or none: what the node says is of the past.
    if (reply === 'unanswered' || ballot.vote !== vote) return;
    const counts = this.counts(vote);
    ballot.renewed(reply);
    if (counts) this.unanswered--;
    if (reply === 'lost') this.lost.push(ballot.node);
    else (counts ? this.confirmed : this.late).push(vote);
    if (this.reply === undefined) this.decide();
    else if (typeof this.reply !== 'object') return;
    else if (reply === 'lost') this.candidacy!.askForTheRest();
    else this.candidacy!.restOnToo(vote);
  }

  /** Every node has answered, or will not in time. */
  end(): RenewReply {
    const all = [...this.confirmed, ...this.late];
    if (all.length >= this.rules.majority) this.reply ??= this.confirmation(all);
    this.reply ??= 'unanswered';
    if (typeof this.reply === 'object') {
      for (const vote of this.late) this.candidacy!.restOnToo(vote);
      this.candidacy!.askForTheRest();
    }
    return this.reply;
  }

  private counts(vote: Vote): boolean {
    return this.candidacy!.restsOn(vote);
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
      validUntil: reached(votes.map(({ validUntil }) => countsUntil(validUntil!, request.lease, rules.driftFactor))),
      tokensUntil: rules.fencing
        ? reached(votes.map(({ tokensUntil }) => tokensUntil))
        : request.fencingToken + request.reserve,
      othersWait: votes.some(({ othersWait }) => othersWait),
    };
  }
}
