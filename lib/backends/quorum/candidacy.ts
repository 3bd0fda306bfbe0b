import type { AcquireReply, AcquireRequest, ReleaseReply } from '../../core/lock-backend.js';
import { Alarm } from './alarm.js';
import { ballotId } from './ballot-id.js';
import { Ballot, type BallotOwner, type Terms, type Vote } from './ballot.js';
import { notReached, releaseOutcome } from './outcomes.js';
import { quorumRefusals } from './quorum.messages.js';
import type { QuorumRules } from './quorum-rules.js';
import { Tally } from './tally.js';

interface Question {
  readonly answer: Promise<AcquireReply>;
  resolve(reply: AcquireReply): void;
  reject(error: unknown): void;
}

interface Elected {
  readonly fencingToken: number;
  /** The votes that the hold rests on. */
  readonly members: Set<Vote>;
  /** Until when further votes count as those of the election. */
  readonly stragglersUntil: number;
}

/** How often one try is repeated that got some votes, but no majority: nobody need have got one. */
const mostRepetitions = 3;
/** Up to this power of two the patience with votes that make no majority grows. */
const mostPatience = 3;

/**
 * One claim over all nodes: it asks every node for its vote, is elected by a majority, and gives everything back in the end.
 *
 * It waits in the queue of each node, so that a release reaches the next in line by one message from each. The queues need not
 * agree: votes that make no majority are given back after a random time, and asked for anew at the end of those queues.
 */
export class Candidacy implements BallotOwner {
  private readonly ballots: Ballot[];
  private phase: 'open' | 'pausing' | 'writing' | 'held' | 'closed' = 'open';
  private question: Question | undefined;
  private elected: Elected | undefined;
  /** When all nodes were asked last, and whether those that have not answered are waited for no longer. */
  private askedAt = 0;
  private impatient = false;
  /** How often votes were given back for want of a majority. */
  private attempts = 0;
  private ballotCount = 0;
  private readonly alarm: Alarm<'stragglers' | 'patience' | 'repetition' | 'confirmation'>;

  constructor(
    private request: AcquireRequest,
    private readonly rules: QuorumRules,
  ) {
    const { name, claim } = request;
    this.ballots = rules.nodes.map((node) => new Ballot(name, claim, request, node, this));
    this.alarm = new Alarm((delay, fn) => rules.timer(delay, fn));
  }

  terms(): Terms {
    const { lease, reserve, enqueue, giveUpAt } = this.request;
    // A holder wants the rest of the votes too, whatever it took to get the first ones.
    return this.phase === 'held'
      ? { lease, reserve: 0, enqueue: true, giveUpAt: Number.POSITIVE_INFINITY }
      : { lease, reserve, enqueue, giveUpAt };
  }

  isWanted(): boolean {
    return this.phase === 'held' || (this.phase !== 'closed' && this.request.isWanted());
  }

  /** Asks all nodes, or asks again: at each of them it keeps its place. */
  ask(request: AcquireRequest): Promise<AcquireReply> {
    this.request = request;
    const { answer } = (this.question ??= newQuestion());
    if (this.phase === 'open' || this.phase === 'held') this.askAll();
    return answer;
  }

  changed(): void {
    if (this.phase === 'held') this.welcome();
    if (this.phase === 'open' || (this.phase === 'held' && this.question)) this.count();
  }

  /** Gives everything back, at every node; what is not answered is repeated there. */
  async release(keepUntil = 0): Promise<ReleaseReply> {
    const { name, claim } = this.request;
    const held = this.phase === 'held';
    this.phase = 'closed';
    this.alarm.stop();
    this.settle()?.reject(quorumRefusals.givenUp(name));
    this.rules.forget(claim);
    const replies = this.ballots.map((ballot) => ballot.close(keepUntil));
    const outcome = await releaseOutcome(name, replies, this.rules.majority);
    // A holder that lost its majority may have single votes left, and stand in queues for the rest of them: it is nobody all the same.
    return held && outcome === 'cancelled' ? 'absent' : outcome;
  }

  /** The nodes are closed next: nothing more is said to them. */
  abandon(): void {
    this.phase = 'closed';
    this.alarm.stop();
    this.settle()?.reject(quorumRefusals.closed(this.request.name));
  }

  /** The ballots of the holder with this token, or one of its block; undefined when that holds nothing (any more). */
  held(fencingToken: number): readonly Ballot[] | undefined {
    return this.phase === 'held' && this.elected!.fencingToken <= fencingToken ? this.ballots : undefined;
  }

  /** Whether this vote is one of those that its hold rests on. */
  restsOn(vote: Vote): boolean {
    return this.elected?.members.has(vote) === true;
  }

  /** The hold was renewed after this vote was won: from now on it counts as those of the election do. */
  restOnToo(vote: Vote): void {
    this.elected?.members.add(vote);
  }

  /** Asks for the votes that a holder does not have. */
  askForTheRest(): void {
    for (const ballot of this.ballots) if (!ballot.vote) ballot.ask();
  }

  private askAll(): void {
    this.askedAt = this.rules.now();
    this.impatient = false;
    for (const ballot of this.ballots) ballot.ask();
    this.changed();
  }

  private tally(): Tally {
    const { lease } = this.request;
    const { rules } = this;
    for (const ballot of this.ballots) ballot.dropVoteAt(rules.now(), lease, rules.driftFactor);
    return new Tally(this.ballots, lease, rules);
  }

  private count(): void {
    const { rules, request } = this;
    const tally = this.tally();
    if (tally.isElected) return this.elect(tally);
    if (tally.answered < rules.majority) return tally.open > 0 ? undefined : this.unreachable();
    if (!tally.isDecided && !this.impatient) return this.awaitStragglers();
    if (tally.ranOut) return this.unreachable();
    this.phase = 'open';
    if (request.enqueue) this.wait(tally);
    else this.defeated(tally);
  }

  /** Nodes that have not answered could still make a majority, or they are dead: they get as long again as the others took. */
  private awaitStragglers(): void {
    const { rules } = this;
    this.alarm.set('stragglers', Math.max(rules.retryDelay, rules.now() - this.askedAt), () => {
      this.impatient = true;
      this.changed();
    });
  }

  /** A majority has voted: the largest of its tokens is the holder's, once a majority of nodes gives none up to it any more. */
  private elect(tally: Tally): void {
    const { elected, rules } = this;
    this.alarm.stop();
    const lasting = tally.votes.filter(({ vote }) => elected?.members.has(vote!));
    if (elected && lasting.length >= rules.majority) return this.win(elected.fencingToken, tally, lasting);
    // A holder that asks again: only when all have answered is it certain that it lost its majority.
    if (this.phase === 'held' && tally.open > 0) return;
    const token = Math.max((elected?.fencingToken ?? 0) + 1, tally.largestToken);
    const supporters = this.supporters(tally, token).filter(({ vote }) => !tally.isShort(vote!));
    if (supporters.length >= rules.majority) return this.win(token, tally, supporters);
    const others = tally.votes.filter((ballot) => !supporters.includes(ballot));
    this.write(token, others);
  }

  /** A question is answered by full votes only: its asker renews in a third of the lease. A pushed grant is renewed at once. */
  private supporters(tally: Tally, token: number): Ballot[] {
    return tally.supporters(token, this.request.reserve, this.question !== undefined);
  }

  /** The second round (`fencing`); also confirms votes of which too little is certain. */
  private write(token: number, ballots: readonly Ballot[]): void {
    const { lease, reserve } = this.request;
    this.phase = 'writing';
    let open = ballots.length;
    const confirmed = (): void => {
      open--;
      if (this.phase !== 'writing') return;
      const tally = this.tally();
      const supporters = this.supporters(tally, token);
      if (supporters.length >= this.rules.majority) return this.win(token, tally, supporters);
      if (open > 0) return;
      // Votes were lost, or went silent, on the way.
      this.phase = 'open';
      this.changed();
    };
    for (const ballot of ballots) {
      void ballot.confirm(token, lease, reserve).then(() => {
        confirmed();
      });
    }
  }

  private win(fencingToken: number, tally: Tally, supporters: readonly Ballot[]): void {
    const { rules, request } = this;
    const { name, claim, reserve } = request;
    if (this.elected?.fencingToken !== fencingToken) {
      const members = new Set(tally.votes.map(({ vote }) => vote!));
      this.elected = { fencingToken, members, stragglersUntil: rules.now() + rules.stragglers };
    }
    this.phase = 'held';
    this.welcome();
    const grant = tally.grant(supporters, fencingToken, reserve);
    const question = this.settle();
    if (question) return question.resolve(grant);
    const { tokensUntil, validUntil } = grant;
    rules.granted({ name, claim, fencingToken, tokensUntil, validUntil });
  }

  /** Further votes of a holder. */
  private welcome(): void {
    const { rules, elected } = this;
    for (const { vote } of this.tally().votes) {
      // Stragglers of the election: there was no time for another one.
      if (rules.now() < elected!.stragglersUntil) elected!.members.add(vote!);
      // It would lapse, and the next renewal may come later than that.
      if (vote!.provisional) this.alarm.set('confirmation', rules.claimWindow / 3, () => this.confirmVotes());
    }
  }

  private confirmVotes(): void {
    const { fencingToken } = this.elected!;
    for (const ballot of this.tally().votes) {
      if (ballot.vote!.provisional) void ballot.confirm(fencingToken, this.request.lease, 0);
    }
  }

  /** It stands in the queues. Votes that do not suffice are what keeps another one from its majority, perhaps: they are not kept for long. */
  private wait({ votes }: Tally): void {
    const { rules } = this;
    const askAt = Math.min(rules.now() + rules.poll, ...this.ballots.map((ballot) => ballot.askAt));
    this.settle()?.resolve({ status: 'queued', askAt });
    if (votes.length === 0) return this.alarm.stop();
    const patience = rules.retryDelay * votes.length * 2 ** Math.min(this.attempts, mostPatience);
    this.alarm.set('patience', patience * (0.5 + rules.random()), () => {
      for (const ballot of this.giveVotesBack()) ballot.ask();
      this.changed();
    });
  }

  /** One try: who got votes, but no majority, may have split them with others who got none either. */
  private defeated(tally: Tally): void {
    const { ballots, rules } = this;
    if (this.attempts < mostRepetitions && ballots.some(({ vote }) => vote)) {
      this.phase = 'pausing';
      this.giveVotesBack();
      this.alarm.set('repetition', rules.retryDelay * this.attempts * rules.random(), () => {
        this.phase = 'open';
        this.askAll();
      });
      return;
    }
    const question = this.settle();
    this.release().catch(() => undefined);
    question?.resolve({ status: 'contended', rest: tally.rest });
  }

  private unreachable(): void {
    const { request, ballots, rules } = this;
    const error = notReached(request.name, ballots, rules.majority);
    const question = this.settle();
    // Who has been told to wait goes on waiting.
    if (question && !request.again) this.release().catch(() => undefined);
    question?.reject(error);
  }

  /** At the end of the queues, under new ids: what was given back is never asked for again. */
  private giveVotesBack(): Ballot[] {
    const { request } = this;
    this.attempts++;
    const fresh: Ballot[] = [];
    this.ballots.forEach((ballot, position) => {
      if (!ballot.vote) return;
      void ballot.close();
      const claim = ballotId(request.claim, ++this.ballotCount);
      fresh.push((this.ballots[position] = new Ballot(request.name, claim, request, ballot.node, this)));
    });
    return fresh;
  }

  private settle(): Question | undefined {
    const { question } = this;
    this.question = undefined;
    return question;
  }
}

function newQuestion(): Question {
  let resolve!: Question['resolve'];
  let reject!: Question['reject'];
  const answer = new Promise<AcquireReply>((onResolve, onReject) => ([resolve, reject] = [onResolve, onReject]));
  return { answer, resolve, reject };
}
