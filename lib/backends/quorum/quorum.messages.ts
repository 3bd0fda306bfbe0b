import { printable } from '../../errors/describe.js';
import {
  LockConfigurationError,
  LockUnavailableError,
  type NodeVote,
  QuorumNotReachedError,
} from '../../errors/lock-errors.js';

interface VoteDetails {
  readonly votes: readonly NodeVote[];
  readonly cause: unknown;
  readonly uncertain?: boolean;
}

/** A quorum of servers. Each node is named by its host and port. */
export const quorumRefusals = {
  /**
   * Too few nodes replied in time (`nodeTimeout`), or they were started a short while ago (`restartGuard`). `error.votes` has the reason
   * for each node.
   */
  notReached: (
    key: string | undefined,
    answered: number,
    size: number,
    majority: number,
    silent: string,
    details: VoteDetails,
  ) =>
    new QuorumNotReachedError(
      `${key === undefined ? 'Locks' : `Lock ${printable(key)}`}: ${answered} of ${size} nodes answered, ${majority} are needed. Check ${silent}.`,
      { key, ...details },
    ),

  /** As the application starts. Locks are given out as soon as a majority is connected. */
  notStarted: (reached: number, size: number, majority: number, silent: string, details: VoteDetails) =>
    new QuorumNotReachedError(
      `${reached} of ${size} nodes of the quorum were reached, ${majority} are needed. Check ${silent}.`,
      details,
    ),

  /**
   * The lease was used up, or nearly, when the votes of a majority had come: slow nodes, or a very short `lease`. One of the reasons in
   * `error.votes`.
   */
  ranOut: (key: string, node: string, lease: number) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: the vote of ${node} had expired (lease ${lease} ms) before a majority had voted. Use a longer lease.`,
      { key },
    ),

  /**
   * A node went silent, or lost its vote, between the vote and the round of the token. One of the reasons in `error.votes`, or the whole error when
   * no time is left for another round.
   */
  notConfirmed: (key: string, node: string) =>
    new LockUnavailableError(`Lock ${printable(key)}: ${node} did not confirm its vote. Check that node.`, {
      key,
      uncertain: true,
    }),

  /** `restartGuard`: the node may have forgotten what it granted. One of the reasons in `error.votes`. */
  young: (key: string, node: string, rest: number) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: ${node} was started a short while ago and gives no vote for another ${rest} ms (option quorum.restartGuard). Wait for it.`,
      { key },
    ),

  /** A release that too few nodes have answered. No caller sees this error: the release is repeated until they do, or until the lease ends. */
  notReleased: (key: string, answered: number, size: number) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: ${answered} of ${size} nodes answered its release; it is repeated at the others.`,
      { key, uncertain: true },
    ),

  /** After the application has ended. */
  closed: (key: string) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: the nodes of the quorum are not connected. Start the application.`,
      {
        key,
        uncertain: true,
      },
    ),

  /** `quorum.nodes` has one or two entries, or none. */
  tooFew: (count: number) =>
    new LockConfigurationError(
      `quorum.nodes: ${count} given; a quorum has 3, 5 or 7 independent servers. With fewer, the failure of one stops all locks: use one server (option redis) instead, or add more.`,
    ),

  /** An even number of `quorum.nodes`. */
  even: (count: number) =>
    new LockConfigurationError(
      `quorum.nodes: ${count} given; a quorum has 3, 5 or 7 independent servers. An even number tolerates no more failures than one less: add one, or remove one.`,
    ),

  /** The same host and port twice, even with different databases. */
  twice: (node: string) =>
    new LockConfigurationError(
      `quorum.nodes: ${node} is in the list twice; a server that votes twice can elect two holders. Use different servers.`,
    ),

  /** Two of `quorum.nodes` lead to one server (`run_id`): a second name, a proxy, an alias in DNS. The second node gives no vote. */
  sameServer: (node: string, other: string) =>
    new LockConfigurationError(
      `quorum.nodes: ${node} and ${other} lead to the same server; a server that votes twice can elect two holders. Use different servers.`,
    ),

  /** `limit` at a call. Each server would give out its own permits, and so majorities could have more holders than there are permits. */
  noPermits: (key: string) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: limit: permits cannot be counted over a quorum of servers. Use a connection with one server (option redis), or take an exclusive or shared lock.`,
      { key },
    ),

  /** A `lease` at a call that is longer than a restarted node abstains. */
  longerThanGuard: (key: string, lease: number, guard: number) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: a lease of ${lease} ms is longer than quorum.restartGuard (${guard} ms): a node that was restarted could vote again while the lease runs. Use a shorter lease, or a longer restartGuard.`,
      { key },
    ),
} as const;

/** Log lines about the nodes of a quorum. */
export const quorumLines = {
  /**
   * Warning: a renewal found that a node has lost votes, while a majority still has them. The node was restarted without its data, flushed,
   * or evicts keys.
   */
  forgotten: (node: string, count: number) =>
    `${node} has forgotten ${count} of the locks that this process holds. A majority of the nodes still has them, and the node is asked for its votes again. Check its persistence and eviction.`,
} as const;
