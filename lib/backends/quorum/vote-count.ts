import type { AcquireReply, PresentHolder } from '../../core/lock-backend.js';
import type { NodeClaim, Vote } from './node-claim.js';
import { quorumClaimId } from './node-claim-id.js';
import { countsUntil, reachedBy, type QuorumRules } from './quorum-rules.js';

type Granted = Extract<AcquireReply, { status: 'granted' }>;

/** The state of an election: the result of the node claims of one claim at this moment. */
export class VoteCount {
  /** The node claims whose votes count. */
  readonly votes: readonly NodeClaim[];
  /** Nodes that have replied, and nodes that still may. */
  readonly answered: number;
  readonly open: number;
  private readonly now: number;

  /** @param lease of the claim in ms */
  constructor(
    private readonly nodeClaims: readonly NodeClaim[],
    private readonly lease: number,
    private readonly rules: QuorumRules,
  ) {
    this.now = rules.now();
    this.votes = nodeClaims.filter(({ vote, outcome }) => vote && outcome === 'answered');
    this.answered = nodeClaims.filter(({ outcome }) => outcome === 'answered').length;
    this.open = nodeClaims.filter(({ isOpen }) => isOpen).length;
  }

  get hasMajority(): boolean {
    return this.votes.length >= this.rules.majority;
  }

  /** A majority has replied, and those that have not cannot elect any more. */
  get isDecided(): boolean {
    return (
      this.answered >= this.rules.majority && (this.open === 0 || this.votes.length + this.open < this.rules.majority)
    );
  }

  /** No other claim has a majority, and this one would have one if its lease had not expired. */
  get ranOut(): boolean {
    return this.votes.length + this.nodeClaims.filter(({ ranOut }) => ranOut).length >= this.rules.majority;
  }

  get largestToken(): number {
    return Math.max(...this.votes.map(({ vote }) => vote!.token));
  }

  /**
   * The node claims whose votes make a holder with this token: their nodes give out none up to it any more.
   * @param full true when votes that lapse soon do not count
   */
  supporters(token: number, full: boolean): NodeClaim[] {
    return this.votes.filter(({ vote }) => {
      const { validUntil, tokensUntil, provisional } = vote!;
      if (validUntil === undefined || (full && provisional)) return false;
      return tokensUntil >= token;
    });
  }

  /** Too little time is left of this vote. */
  isShort(vote: Vote): boolean {
    return this.until(vote) - this.now < Math.min(this.lease, this.rules.claimWindow) / 2;
  }

  /** The grant of a majority of these votes. */
  grant(supporters: readonly NodeClaim[], fencingToken: number): Granted {
    const { majority } = this.rules;
    const votes = supporters.map(({ vote }) => vote!);
    return {
      status: 'granted',
      fencingToken,
      validUntil: reachedBy(
        votes.map((vote) => this.until(vote)),
        majority,
      ),
      tokensUntil: reachedBy(
        votes.map(({ tokensUntil }) => tokensUntil),
        majority,
      ),
      othersWait: votes.some(({ othersWait }) => othersWait),
    };
  }

  /** Milliseconds until the leases end that keep a majority from being free. */
  get rest(): number {
    const rests = this.nodeClaims.map(({ outcome, rest }) =>
      outcome === 'answered' ? -rest : Number.NEGATIVE_INFINITY,
    );
    return -reachedBy(rests, this.rules.majority);
  }

  /**
   * The claim that has the votes of a majority of all nodes. Its token is the largest of those that were seen. Readers may come to the nodes
   * in different orders: then no one is the earliest.
   */
  get holder(): PresentHolder | undefined {
    const { majority } = this.rules;
    const seen = this.nodeClaims.flatMap(({ outcome, vote, holder }) =>
      outcome === 'answered' && !vote && holder ? [{ ...holder, id: quorumClaimId(holder.id) }] : [],
    );
    for (const { id } of seen) {
      const votes = seen.filter((other) => other.id === id);
      if (votes.length < majority) continue;
      return {
        id,
        fencingToken: Math.max(...votes.map(({ fencingToken }) => fencingToken!)),
        heldFor: reachedBy(
          votes.map(({ heldFor }) => heldFor!),
          majority,
        ),
      };
    }
    return undefined;
  }

  private until({ validUntil = Number.POSITIVE_INFINITY }: Vote): number {
    return countsUntil(validUntil, this.lease);
  }
}
