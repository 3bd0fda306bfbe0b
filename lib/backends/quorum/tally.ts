import type { AcquireReply } from '../../core/lock-backend.js';
import type { Ballot, Vote } from './ballot.js';
import { countsUntil, reachedBy } from './majority.js';
import type { QuorumRules } from './quorum-rules.js';

type Granted = Extract<AcquireReply, { status: 'granted' }>;

/** How an election stands: what the ballots of one claim come to at this moment. */
export class Tally {
  /** The ballots whose votes count. */
  readonly votes: readonly Ballot[];
  /** Nodes that have answered, and nodes that still may. */
  readonly answered: number;
  readonly open: number;
  private readonly now: number;

  /** @param lease of the claim in ms */
  constructor(
    private readonly ballots: readonly Ballot[],
    private readonly lease: number,
    private readonly rules: QuorumRules,
  ) {
    this.now = rules.now();
    this.votes = ballots.filter(({ vote, outcome }) => vote && outcome === 'answered');
    this.answered = ballots.filter(({ outcome }) => outcome === 'answered').length;
    this.open = ballots.filter(({ isOpen }) => isOpen).length;
  }

  get isElected(): boolean {
    return this.votes.length >= this.rules.majority;
  }

  /** A majority has answered, and those that have not cannot elect any more. */
  get isDecided(): boolean {
    return (
      this.answered >= this.rules.majority && (this.open === 0 || this.votes.length + this.open < this.rules.majority)
    );
  }

  /** Nobody else has a majority, and this claim would have one, had its lease not run out before. */
  get ranOut(): boolean {
    return this.votes.length + this.ballots.filter(({ ranOut }) => ranOut).length >= this.rules.majority;
  }

  get largestToken(): number {
    return Math.max(...this.votes.map(({ vote }) => vote!.token));
  }

  /**
   * Those whose votes make a holder with this token: their nodes give none up to it, or to the end of its block, any more.
   * @param full whether votes that lapse soon are not enough
   */
  supporters(token: number, reserve: number, full: boolean): Ballot[] {
    return this.votes.filter(({ vote }) => {
      const { validUntil, tokensUntil, provisional } = vote!;
      if (validUntil === undefined || (full && provisional)) return false;
      return !this.rules.fencing || tokensUntil >= token + reserve;
    });
  }

  /** Too little of this vote is left to begin with. */
  isShort(vote: Vote): boolean {
    return this.until(vote) - this.now < Math.min(this.lease, this.rules.claimWindow) / 2;
  }

  /** What a majority of these votes grants. */
  grant(supporters: readonly Ballot[], fencingToken: number, reserve: number): Granted {
    const { majority, fencing } = this.rules;
    const votes = supporters.map(({ vote }) => vote!);
    return {
      status: 'granted',
      fencingToken,
      validUntil: reachedBy(
        votes.map((vote) => this.until(vote)),
        majority,
      ),
      tokensUntil: fencing
        ? reachedBy(
            votes.map(({ tokensUntil }) => tokensUntil),
            majority,
          )
        : fencingToken + reserve,
      othersWait: votes.some(({ othersWait }) => othersWait),
    };
  }

  /** Milliseconds until so many leases are over that a majority can be free. */
  get rest(): number {
    const rests = this.ballots.map(({ outcome, rest }) => (outcome === 'answered' ? -rest : Number.NEGATIVE_INFINITY));
    return -reachedBy(rests, this.rules.majority);
  }

  private until({ validUntil = Number.POSITIVE_INFINITY }: Vote): number {
    return countsUntil(validUntil, this.lease, this.rules.driftFactor);
  }
}
