import type {
  ActivityReport,
  ActivityReports,
  HolderRef,
  HolderSnapshot,
  LockSnapshot,
  WaiterSnapshot,
} from '../../core/lock-backend.js';
import { quorumClaimId } from './node-claim-id.js';
import { reachedBy } from './quorum-rules.js';
import { allReplies, repliesOf } from './quorum-replies.js';
import type { QuorumNode } from './quorum-node.js';

/** A holder as one node reports it. */
interface SeenVote {
  readonly node: QuorumNode;
  readonly holder: HolderSnapshot;
  readonly snapshot: LockSnapshot;
}

/** Views of locks, and revoking them: the result of most of the nodes. The nodes of a name are asked at once, but not at one moment. */
export class QuorumViews {
  constructor(
    private readonly nodes: readonly QuorumNode[],
    private readonly majority: number,
  ) {}

  /** Holders have the votes of a majority. Their token is the largest one, which may be that of a vote that came after the election. */
  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    const { majority } = this;
    const seen = await this.snapshots(name, waiters);
    const votes = [...votesByClaim(seen)].filter(([, won]) => won.length >= majority);
    const holding = new Set(votes.map(([claim]) => claim));
    return {
      kind: votes[0]?.[1][0]!.snapshot.kind,
      limit: undefined,
      holders: votes.map(([claim, won]) => holderOf(claim, won, majority)),
      waiters: waitersIn(seen)
        .filter(({ id: claim }) => !holding.has(claim))
        .slice(0, waiters),
    };
  }

  /** Each vote is revoked at its node, by the node's own token. */
  async revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    const { majority } = this;
    const seen = await this.snapshots(name, 0);
    const named = [...votesByClaim(seen)].filter(([claim, votes]) =>
      holders.some((ref) => ref.id === claim && isElectedBy(ref.fencingToken!, votes, majority)),
    );
    const votes = named.flatMap(([, won]) => won);
    const nodes = this.nodes.filter((node) => votes.some((vote) => vote.node === node));
    const taken = await Promise.all(
      nodes.map(async (node) => {
        const there = votes.filter((vote) => vote.node === node).map(({ holder }) => holder);
        return node.backend.revoke!(name, there);
      }),
    );
    const lost = taken.flat().map(quorumClaimId);
    return named.map(([claim]) => claim).filter((claim) => lost.filter((one) => one === claim).length >= majority);
  }

  /** Names that are held at a majority of the nodes. */
  async *list(startsWith: string): AsyncGenerator<readonly string[]> {
    const lists = await repliesOf(undefined, this.nodes, this.majority, async ({ backend }) => {
      const names = new Set<string>();
      for await (const batch of backend.list!(startsWith)) for (const name of batch) names.add(name);
      return names;
    });
    const count = new Map<string, number>();
    for (const [, names] of lists) for (const name of names) count.set(name, (count.get(name) ?? 0) + 1);
    yield [...count].filter(([, nodes]) => nodes >= this.majority).map(([name]) => name);
  }

  /** At all nodes that can be reached. @throws what a node says, when there is none */
  async report(report: ActivityReport): Promise<void> {
    await this.reached(async ({ backend }) => backend.report!(report));
  }

  /** Of each process the newest report that a node has: one node may have missed it. */
  async reports(most: number): Promise<ActivityReports> {
    const answers = await this.reached(async ({ backend }) => backend.reports!(most));
    const newest = new Map<string, ActivityReports['reports'][number]>();
    for (const report of answers.flatMap(({ reports }) => reports)) {
      const known = newest.get(report.process);
      if (!known || report.age < known.age) newest.set(report.process, report);
    }
    const total = Math.max(newest.size, ...answers.map((answer) => answer.total));
    return { total, reports: [...newest.values()].slice(0, most) };
  }

  private async reached<T>(request: (node: QuorumNode) => Promise<T>): Promise<T[]> {
    const { given, errors } = await allReplies(this.nodes, request);
    if (given.length === 0) throw errors[0]!;
    return given.map(([, reply]) => reply);
  }

  private snapshots(name: string, waiters: number): Promise<ReadonlyArray<readonly [QuorumNode, LockSnapshot]>> {
    return repliesOf(name, this.nodes, this.majority, ({ backend }) => backend.inspect!(name, waiters));
  }
}

function votesByClaim(
  seen: ReadonlyArray<readonly [QuorumNode, LockSnapshot]>,
): ReadonlyMap<string, readonly SeenVote[]> {
  const votes = new Map<string, SeenVote[]>();
  for (const [node, snapshot] of seen) {
    for (const holder of snapshot.holders) {
      const claim = quorumClaimId(holder.id);
      votes.set(claim, [...(votes.get(claim) ?? []), { node, holder, snapshot }]);
    }
  }
  return votes;
}

/** True when a holder can have this token by these votes: it is the largest of a majority of them. */
function isElectedBy(token: number, votes: readonly SeenVote[], majority: number): boolean {
  const tokens = votes.map(({ holder }) => holder.fencingToken!);
  return tokens.includes(token) && tokens.filter((one) => one <= token).length >= majority;
}

function holderOf(claim: string, votes: readonly SeenVote[], majority: number): HolderSnapshot {
  const holders = votes.map(({ holder }) => holder);
  const inState = (state: HolderSnapshot['state']): number => holders.filter((holder) => holder.state === state).length;
  const reached = (values: number[]): number => reachedBy(values, majority);
  return {
    id: claim,
    fencingToken: Math.max(...holders.map(({ fencingToken }) => fencingToken!)),
    heldFor: reached(holders.map(({ heldFor }) => heldFor!)),
    leaseLeft: reached(holders.map(({ leaseLeft }) => leaseLeft)),
    state: inState('kept') >= majority ? 'kept' : inState('held') >= majority ? 'held' : 'provisional',
    permits: 1,
  };
}

/** Each once, the longest wait first: the nodes' queues need not agree. */
function waitersIn(seen: ReadonlyArray<readonly [QuorumNode, LockSnapshot]>): WaiterSnapshot[] {
  const waiters = new Map<string, WaiterSnapshot>();
  for (const waiter of seen.flatMap(([, snapshot]) => snapshot.waiters)) {
    const claim = quorumClaimId(waiter.id);
    const known = waiters.get(claim);
    if (!known || known.waited < waiter.waited) waiters.set(claim, { ...waiter, id: claim });
  }
  return [...waiters.values()].sort((a, b) => b.waited - a.waited);
}
