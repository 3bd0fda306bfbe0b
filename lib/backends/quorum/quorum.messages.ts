import { describe, printable } from '../../core/describe.js';
import {
  LockConfigurationError,
  LockUnavailableError,
  type NodeVote,
  QuorumNotReachedError,
} from '../../errors/lock-errors.js';

/** A quorum of servers that cannot be asked. Each node is called by its host and port. */
export const quorumRefusals = {
  /** Too few nodes answered in time (`nodeTimeout`), or they were started a short while ago (`restartGuard`). `error.votes` says for each node why. */
  notReached: (
    key: string | undefined,
    answered: number,
    size: number,
    majority: number,
    silent: string,
    votes: readonly NodeVote[] = [],
    { cause, uncertain = false }: { cause?: unknown; uncertain?: boolean } = {},
  ) =>
    new QuorumNotReachedError(
      `${key === undefined ? 'Locks' : `Lock ${printable(key)}`}: ${answered} of ${size} nodes answered, ${majority} are needed. Look at ${silent}.`,
      { key, votes, cause, uncertain },
    ),

  /** As the application starts. Locks are given out as soon as a majority is there. */
  notStarted: (
    reached: number,
    size: number,
    majority: number,
    silent: string,
    votes: readonly NodeVote[] = [],
    cause?: unknown,
  ) =>
    new QuorumNotReachedError(
      `${reached} of ${size} nodes of the quorum were reached, ${majority} are needed. Look at ${silent}.`,
      { votes, cause },
    ),

  /** The votes of a majority came when the lease was used up, or nearly: slow nodes, or a very short `lease`. One of the reasons in `error.votes`. */
  ranOut: (key: string, node: string, lease: number) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: the vote of ${node} had run out (lease ${lease} ms) before a majority was there. Give a longer lease.`,
      { key },
    ),

  /** A node went silent between its vote and the round of the token. One of the reasons in `error.votes`. */
  notConfirmed: (key: string, node: string) =>
    new LockUnavailableError(`Lock ${printable(key)}: ${node} did not confirm its vote. Look at it.`, {
      key,
      uncertain: true,
    }),

  /** `restartGuard`: the node may have forgotten what it granted. One of the reasons in `error.votes`. */
  young: (key: string, node: string, rest: number) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: ${node} was started a short while ago and gives no vote for another ${rest} ms (option quorum.restartGuard). Wait for it.`,
      { key },
    ),

  /** A release that too few nodes have answered. Nobody sees this: it is repeated until they do, or until the lease is over. */
  notReleased: (key: string, answered: number, size: number) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: ${answered} of ${size} nodes answered its release; the others are asked on.`,
      { key, uncertain: true },
    ),

  /** The caller had gone before an answer could come. Nobody sees this. */
  givenUp: (key: string) => new LockUnavailableError(`Lock ${printable(key)}: given up meanwhile.`, { key }),

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
      `quorum.nodes: ${count} given; a quorum has 3, 5 or 7 independent servers. With fewer, one that fails takes all locks with it: give one server as option redis instead, or add more.`,
    ),

  /** An even number of `quorum.nodes`. */
  even: (count: number) =>
    new LockConfigurationError(
      `quorum.nodes: ${count} given; a quorum has 3, 5 or 7 independent servers. An even number bears no more failures than one less: add one, or take one away.`,
    ),

  /** The same host and port twice, also with different databases. */
  twice: (node: string) =>
    new LockConfigurationError(
      `quorum.nodes: ${node} is there twice; a server that votes twice can elect two holders. Give different servers.`,
    ),

  /** `quorum.driftFactor`. */
  driftFactor: (given: unknown, least: number, most: number) =>
    new LockConfigurationError(
      `quorum.driftFactor: ${describe(given)} given; a part of the lease from ${least} to ${most} expected.`,
    ),

  /** `limit` at a call. Majorities of servers that each give out their own permits could be more holders than there are permits. */
  noPermits: (key: string) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: limit: permits cannot be counted over a quorum of servers. Give the connection one server (option redis), or take an exclusive or shared lock.`,
      { key },
    ),

  /** A `lease` at a call that a restarted node could outvote. */
  longerThanGuard: (key: string, lease: number, guard: number) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: a lease of ${lease} ms is longer than quorum.restartGuard (${guard} ms): a node that was restarted could vote again while it runs. Give a shorter lease, or a longer restartGuard.`,
      { key },
    ),
} as const;

/** Lines in the log about the nodes of a quorum. */
export const quorumLines = {
  /** Warning: a renewal found votes gone, and a majority still there. The node was restarted without its data, flushed, or evicts keys. */
  forgotten: (node: string, count: number) =>
    `${node} has forgotten ${count} of the locks that this process holds. A majority of the nodes still knows them, and it is asked for its votes again; look at its persistence and eviction.`,
} as const;
