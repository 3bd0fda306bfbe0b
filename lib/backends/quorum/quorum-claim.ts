import type { AcquireReply, AcquireRequest, ReleaseReply } from '../../core/lock-backend.js';
import { refusals } from '../../core/refusals.js';
import { Alarm } from './alarm.js';
import type { ClaimTerms } from '../../core/claim.js';
import { NodeClaim, type NodeClaimOwner, type Vote } from './node-claim.js';
import { nodeClaimId } from './node-claim-id.js';
import type { LockError } from '../../errors/lock-errors.js';
import { notReached, releaseOutcome } from './quorum-replies.js';
import { quorumRefusals } from './quorum.messages.js';
import type { QuorumRules } from './quorum-rules.js';
import { VoteCount } from './vote-count.js';

interface Question {
  readonly answer: Promise<AcquireReply>;
  resolve(reply: AcquireReply): void;
  reject(error: unknown): void;
}

interface QuorumGrant {
  readonly fencingToken: number;
  /** The votes that the hold rests on. */
  readonly members: Set<Vote>;
  /** Until when further votes count as those of the election. */
  readonly lateVotesUntil: number;
}

/** How often a single try is repeated when it got some votes but no majority: perhaps no other claim got one. */
const mostRepetitions = 3;
/**
 * About how long (ms) votes without a majority are kept. Longer than the time between the servers' replies: a shorter time would give votes
 * back in vain, a longer one leaves a lock unused that several claims have split between them.
 */
const retryDelay = 10;
/** The time for votes without a majority grows up to this power of two. */
const mostPatience = 3;

/**
 * One claim over all nodes: it asks each node for its vote, is granted by a majority, and releases everything in the end.
 *
 * It waits in the queue of each node, so that a release reaches the next in line by one message from each. The queues need not agree: votes
 * without a majority are given back after a random time, and requested again at the end of those queues.
 */
export class QuorumClaim implements NodeClaimOwner {
  private readonly nodeClaims: NodeClaim[];
  private phase: 'open' | 'pausing' | 'writing' | 'held' | 'closed' = 'open';
  private question: Question | undefined;
  private grant: QuorumGrant | undefined;
  /** When all nodes were asked last, and whether it still waits for those that have not replied. */
  private askedAt = 0;
  private impatient = false;
  /** How often votes were given back for lack of a majority. */
  private attempts = 0;
  private renewedIds = 0;
  /** Of the open question, when it asks for longer than its first requests take. */
  private stopLimit: (() => void) | undefined;
  private readonly alarm: Alarm<'slowNodes' | 'patience' | 'repetition' | 'confirmation'>;

  constructor(
    private request: AcquireRequest,
    private readonly rules: QuorumRules,
  ) {
    const { name, id: claim } = request;
    this.nodeClaims = rules.nodes.map((node) => new NodeClaim(name, claim, request, node, this));
    this.alarm = new Alarm((delay, fn) => rules.timer(delay, fn));
  }

  terms(): ClaimTerms {
    const { lease, reserve, enqueue, giveUpAt } = this.request;
    // A holder wants the rest of the votes too, independent of the terms of its election.
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
    if (this.phase === 'held') this.acceptLateVotes();
    if (this.phase === 'open' || (this.phase === 'held' && this.question)) this.evaluate();
  }

  /** Releases everything, at each node; repeats it where there is no reply. */
  async release(keepUntil = 0): Promise<ReleaseReply> {
    const { name, id: claim } = this.request;
    const held = this.phase === 'held';
    this.phase = 'closed';
    this.alarm.stop();
    this.settle()?.reject(refusals.givenUp(name));
    this.rules.forget(claim);
    const replies = this.nodeClaims.map((nodeClaim) => nodeClaim.close(keepUntil));
    const outcome = await releaseOutcome(name, replies, this.rules.majority);
    // A holder that lost its majority may have single votes left, and wait in queues for the rest: it does not hold.
    return held && outcome === 'cancelled' ? 'absent' : outcome;
  }

  /** The nodes are closed next: nothing more is sent to them. */
  abandon(): void {
    this.phase = 'closed';
    this.alarm.stop();
    this.settle()?.reject(quorumRefusals.closed(this.request.name));
  }

  /** The node claims of the holder with this token, or one of its block; undefined when it does not hold (any more). */
  held(fencingToken: number): readonly NodeClaim[] | undefined {
    return this.phase === 'held' && this.grant!.fencingToken <= fencingToken ? this.nodeClaims : undefined;
  }

  /** True for a vote that its hold rests on. */
  countsVote(vote: Vote): boolean {
    return this.grant?.members.has(vote) === true;
  }

  /** The hold was renewed after this vote was won: from now on it counts like those of the election. */
  countVote(vote: Vote): void {
    this.grant?.members.add(vote);
  }

  /** Asks for the votes that a holder does not have. */
  askForMissingVotes(): void {
    for (const nodeClaim of this.nodeClaims) if (!nodeClaim.vote) nodeClaim.ask();
  }

  private askAll(): void {
    this.askedAt = this.rules.now();
    this.impatient = false;
    for (const nodeClaim of this.nodeClaims) nodeClaim.ask();
    this.changed();
  }

  private countVotes(): VoteCount {
    const { lease } = this.request;
    const { rules } = this;
    for (const nodeClaim of this.nodeClaims) nodeClaim.dropVoteAt(rules.now(), lease);
    return new VoteCount(this.nodeClaims, lease, rules);
  }

  private evaluate(): void {
    const { rules, request } = this;
    const count = this.countVotes();
    if (count.hasMajority) return this.takeMajority(count);
    if (count.answered < rules.majority) return count.open > 0 ? undefined : this.unreachable();
    if (!count.isDecided && !this.impatient) return this.awaitSlowNodes();
    if (count.ranOut) return this.unreachable();
    this.phase = 'open';
    if (request.enqueue) this.wait(count);
    else this.contended(count);
  }

  /** Nodes without a reply could still make a majority, or they are dead: they get as much time again as the others took. */
  private awaitSlowNodes(): void {
    const { rules } = this;
    this.alarm.set('slowNodes', Math.max(retryDelay, rules.now() - this.askedAt), () => {
      this.impatient = true;
      this.changed();
    });
  }

  /** A majority has voted: the largest of its tokens becomes the holder's, once a majority of nodes gives out none up to it any more. */
  private takeMajority(count: VoteCount): void {
    const { grant, rules } = this;
    this.alarm.stop();
    const lasting = count.votes.filter(({ vote }) => grant?.members.has(vote!));
    if (grant && lasting.length >= rules.majority) return this.succeed(grant.fencingToken, count, lasting);
    // A holder that asks again: only when all have replied is it certain that it lost its majority.
    if (this.phase === 'held' && count.open > 0) return;
    const token = Math.max((grant?.fencingToken ?? 0) + 1, count.largestToken);
    const supporters = this.supporters(count, token).filter(({ vote }) => !count.isShort(vote!));
    if (supporters.length >= rules.majority) return this.succeed(token, count, supporters);
    const others = count.votes.filter((nodeClaim) => !supporters.includes(nodeClaim));
    this.raiseTokens(token, others);
  }

  /** A reply to a request needs full votes: the holder renews after a third of the lease. A pushed grant is renewed at once. */
  private supporters(count: VoteCount, token: number): NodeClaim[] {
    return count.supporters(token, this.question !== undefined);
  }

  /** The second round; also confirms votes that are valid for too short a time. */
  private raiseTokens(token: number, nodeClaims: readonly NodeClaim[]): void {
    const { lease, reserve } = this.request;
    this.phase = 'writing';
    let open = nodeClaims.length;
    const confirmed = (): void => {
      open--;
      if (this.phase !== 'writing') return;
      const count = this.countVotes();
      const supporters = this.supporters(count, token);
      if (supporters.length >= this.rules.majority) return this.succeed(token, count, supporters);
      if (open > 0) return;
      // Votes were lost on the way, or their nodes went silent.
      this.phase = 'open';
      this.changed();
      if (!this.question) return;
      const failed = nodeClaims.find((nodeClaim) => !supporters.includes(nodeClaim));
      this.limit(() => this.unreachable(failed && quorumRefusals.notConfirmed(this.request.name, failed.node.label)));
    };
    for (const nodeClaim of nodeClaims) {
      void nodeClaim.confirm(token, lease, reserve).then(() => {
        confirmed();
      });
    }
  }

  private succeed(fencingToken: number, count: VoteCount, supporters: readonly NodeClaim[]): void {
    const { rules, request } = this;
    const { name, id: claim } = request;
    if (this.grant?.fencingToken !== fencingToken) {
      const members = new Set(count.votes.map(({ vote }) => vote!));
      this.grant = { fencingToken, members, lateVotesUntil: rules.now() + rules.nodeTimeout };
    }
    this.phase = 'held';
    // Before votes are counted anew: one of these may have expired since.
    const grant = count.grant(supporters, fencingToken);
    this.acceptLateVotes();
    const question = this.settle();
    if (question) return question.resolve(grant);
    const { tokensUntil, validUntil } = grant;
    rules.granted({ name, id: claim, fencingToken, tokensUntil, validUntil });
  }

  /** Takes further votes of a holder. */
  private acceptLateVotes(): void {
    const { rules, grant } = this;
    for (const { vote } of this.countVotes().votes) {
      // Late votes of the election: there was no time for another one.
      if (rules.now() < grant!.lateVotesUntil) grant!.members.add(vote!);
      // It would lapse, and the next renewal may come later than that.
      if (vote!.provisional) this.alarm.set('confirmation', rules.claimWindow / 3, () => this.confirmVotes());
    }
  }

  private confirmVotes(): void {
    const { fencingToken } = this.grant!;
    for (const nodeClaim of this.countVotes().votes) {
      if (nodeClaim.vote!.provisional) void nodeClaim.confirm(fencingToken, this.request.lease, 0);
    }
  }

  /** It is in the queues. Its votes without a majority may keep another claim from a majority: they are not kept for long. */
  private wait({ votes, holder }: VoteCount): void {
    const { rules } = this;
    const askAt = Math.min(rules.now() + rules.poll, ...this.nodeClaims.map((nodeClaim) => nodeClaim.askAt));
    this.settle()?.resolve({ status: 'queued', askAt, holder });
    if (votes.length === 0) return this.alarm.stop();
    const patience = retryDelay * votes.length * 2 ** Math.min(this.attempts, mostPatience);
    this.alarm.set('patience', patience * (0.5 + rules.random()), () => {
      for (const nodeClaim of this.giveVotesBack()) nodeClaim.ask();
      this.changed();
    });
  }

  /** One try: a claim with votes but no majority may have split them with others that have none either. */
  private contended(count: VoteCount): void {
    const { nodeClaims, rules } = this;
    const { rest, holder } = count;
    const refuse = (): void => {
      const question = this.settle();
      this.release().catch(() => undefined);
      question?.resolve({ status: 'contended', leaseLeft: rest, holder });
    };
    if (this.attempts < mostRepetitions && this.timeToAsk > 0 && nodeClaims.some(({ vote }) => vote)) {
      this.phase = 'pausing';
      this.limit(refuse);
      this.giveVotesBack();
      this.alarm.set('repetition', retryDelay * this.attempts * rules.random(), () => {
        this.phase = 'open';
        this.askAll();
      });
      return;
    }
    refuse();
  }

  private unreachable(reason?: LockError): void {
    const { request, nodeClaims, rules } = this;
    const error = reason ?? notReached(request.name, nodeClaims, rules.majority);
    const question = this.settle();
    // A claim that waits already keeps waiting.
    if (question && !request.again) this.release().catch(() => undefined);
    question?.reject(error);
  }

  /** Milliseconds that are left for requests: the last `nodeTimeout` of a call is for the token round. */
  private get timeToAsk(): number {
    return this.request.giveUpAt + this.rules.nodeTimeout - this.rules.now();
  }

  /** The first requests and their token round end in time by themselves; what comes behind them needs a limit. */
  private limit(end: () => void): void {
    const { timeToAsk } = this;
    this.stopLimit?.();
    if (timeToAsk <= 0) return end();
    if (timeToAsk === Number.POSITIVE_INFINITY) return;
    this.stopLimit = this.rules.timer(timeToAsk, () => {
      if (this.phase !== 'writing') end();
    });
  }

  /** Asks again at the end of the queues, under new ids: a vote that was given back is never requested again under its old id. */
  private giveVotesBack(): NodeClaim[] {
    const { request } = this;
    this.attempts++;
    const fresh: NodeClaim[] = [];
    this.nodeClaims.forEach((nodeClaim, position) => {
      if (!nodeClaim.vote) return;
      void nodeClaim.close();
      const claim = nodeClaimId(request.id, ++this.renewedIds);
      fresh.push((this.nodeClaims[position] = new NodeClaim(request.name, claim, request, nodeClaim.node, this)));
    });
    return fresh;
  }

  private settle(): Question | undefined {
    const { question } = this;
    this.question = undefined;
    this.stopLimit?.();
    return question;
  }
}

function newQuestion(): Question {
  let resolve!: Question['resolve'];
  let reject!: Question['reject'];
  const answer = new Promise<AcquireReply>((onResolve, onReject) => ([resolve, reject] = [onResolve, onReject]));
  return { answer, resolve, reject };
}
