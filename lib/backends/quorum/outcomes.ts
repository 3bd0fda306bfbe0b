import type { ReleaseReply } from '../../core/lock-backend.js';
import {
  type LockError,
  LockUnavailableError,
  type NodeVote,
  type QuorumNotReachedError,
} from '../../errors/lock-errors.js';
import type { Ballot } from './ballot.js';
import { quorumRefusals } from './quorum.messages.js';
import type { QuorumNode } from './quorum-node.js';

/** Too few nodes could be asked: who said what, and why the others said nothing. What will not heal by itself is told as such. */
export function notReached(name: string, ballots: readonly Ballot[], majority: number): LockError {
  const errors = ballots.flatMap(({ error }) => (error ? [error] : []));
  const refused = errors.find((error) => !(error instanceof LockUnavailableError));
  if (refused) return refused;
  const votes = ballots.map((ballot): NodeVote => {
    const node = ballot.node.label;
    if (ballot.outcome !== 'answered' || ballot.ranOut)
      return { node, answer: 'unreachable', error: ballot.error?.message };
    return { node, answer: ballot.vote ? 'granted' : 'contended' };
  });
  const silent = unreachable(votes);
  return quorumRefusals.notReached(
    name,
    votes.length - silent.length,
    votes.length,
    majority,
    silent.join(', '),
    votes,
    {
      cause: errors[0],
      uncertain: errors.some((error) => error instanceof LockUnavailableError && error.uncertain),
    },
  );
}

/** Too few nodes could be reached as the application started. */
export function notStarted(
  nodes: readonly QuorumNode[],
  reasons: ReadonlyArray<Error | undefined>,
  majority: number,
): QuorumNotReachedError {
  const votes = nodes.map(({ label: node }, position): NodeVote => {
    const error = reasons[position]?.message;
    return error === undefined ? { node, answer: 'connected' } : { node, answer: 'unreachable', error };
  });
  const silent = unreachable(votes);
  const cause = reasons.find((reason) => reason !== undefined);
  return quorumRefusals.notStarted(
    nodes.length - silent.length,
    nodes.length,
    majority,
    silent.join(', '),
    votes,
    cause,
  );
}

/**
 * What a majority of the nodes answers, each with its node.
 * @param name of the lock that they are asked about, if it is one
 * @throws QuorumNotReachedError; what a node refuses for good as that
 */
export async function answersOf<T>(
  name: string | undefined,
  nodes: readonly QuorumNode[],
  majority: number,
  ask: (node: QuorumNode) => Promise<T>,
): Promise<ReadonlyArray<readonly [QuorumNode, T]>> {
  const answers = await Promise.allSettled(nodes.map(ask));
  const given = answers.flatMap((answer, position) =>
    answer.status === 'fulfilled' ? [[nodes[position]!, answer.value] as const] : [],
  );
  const errors = answers.map((answer) => (answer.status === 'rejected' ? (answer.reason as Error) : undefined));
  const refused = errors.find((error) => error && !(error instanceof LockUnavailableError));
  if (refused) throw refused;
  if (given.length >= majority) return given;
  const votes = nodes.map(({ label: node }, position): NodeVote => {
    const error = errors[position]?.message;
    return error === undefined ? { node, answer: 'connected' } : { node, answer: 'unreachable', error };
  });
  const cause = errors.find((error) => error !== undefined);
  const silent = unreachable(votes).join(', ');
  throw quorumRefusals.notReached(name, given.length, nodes.length, majority, silent, votes, { cause });
}

const unreachable = (votes: readonly NodeVote[]): string[] =>
  votes.filter(({ answer }) => answer === 'unreachable').map(({ node }) => node);

/**
 * What releases at all nodes come to, as soon as that is known: a majority has freed the lock, so it was held; or the claim stood
 * in queues, or had too few votes to hold; or nobody knew it.
 * @param replies undefined for a node that cannot know of the claim
 * @throws LockUnavailableError when too many nodes have not answered; they are asked on, beside.
 */
export function releaseOutcome(
  name: string,
  replies: ReadonlyArray<Promise<ReleaseReply | 'unanswered'> | undefined>,
  majority: number,
): Promise<ReleaseReply> {
  return new Promise((resolve, reject) => {
    const count = { released: 0, cancelled: 0, absent: 0, unanswered: 0 };
    const decide = (): void => {
      const { released, cancelled, absent, unanswered } = count;
      if (released >= majority) resolve('released');
      if (released + cancelled + absent + unanswered < replies.length) return;
      if (released + unanswered < majority) resolve(released + cancelled > 0 ? 'cancelled' : 'absent');
      else reject(quorumRefusals.notReleased(name, replies.length - unanswered, replies.length));
    };
    for (const reply of replies) {
      if (reply === undefined) count.absent++;
      else {
        void reply.then((answer) => {
          count[answer]++;
          decide();
        });
      }
    }
    decide();
  });
}
