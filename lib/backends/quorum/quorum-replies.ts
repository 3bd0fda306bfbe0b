import type { ReleaseReply } from '../../core/lock-backend.js';
import {
  type LockError,
  LockUnavailableError,
  type NodeVote,
  type QuorumNotReachedError,
} from '../../errors/lock-errors.js';
import type { NodeClaim } from './node-claim.js';
import { quorumRefusals } from './quorum.messages.js';
import type { QuorumNode } from './quorum-node.js';

/** Too few nodes replied: the error has the reply, or the reason, of each node. An error that retries do not heal is returned as itself. */
export function notReached(name: string, nodeClaims: readonly NodeClaim[], majority: number): LockError {
  const errors = nodeClaims.flatMap(({ error }) => (error ? [error] : []));
  const refused = errors.find((error) => !(error instanceof LockUnavailableError));
  if (refused) return refused;
  const votes = nodeClaims.map((nodeClaim): NodeVote => {
    const node = nodeClaim.node.label;
    if (nodeClaim.outcome !== 'answered' || nodeClaim.ranOut)
      return { node, reply: 'unreachable', error: nodeClaim.error?.message };
    return { node, reply: nodeClaim.vote ? 'granted' : 'contended' };
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
    return error === undefined ? { node, reply: 'connected' } : { node, reply: 'unreachable', error };
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
 * The replies of a majority of the nodes, each with its node.
 * @param name of the lock that the request is about, if there is one
 * @throws QuorumNotReachedError; an error that retries do not heal, as itself
 */
export async function repliesOf<T>(
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
    return error === undefined ? { node, reply: 'connected' } : { node, reply: 'unreachable', error };
  });
  const cause = errors.find((error) => error !== undefined);
  const silent = unreachable(votes).join(', ');
  throw quorumRefusals.notReached(name, given.length, nodes.length, majority, silent, votes, { cause });
}

const unreachable = (votes: readonly NodeVote[]): string[] =>
  votes.filter(({ reply }) => reply === 'unreachable').map(({ node }) => node);

/**
 * The outcome of the releases at all nodes, as soon as it is certain: a majority has freed the lock, so it was held; or the claim was in
 * queues, or had too few votes to hold; or no node knew it.
 * @param replies undefined for a node that cannot know the claim
 * @throws LockUnavailableError when too many nodes have not replied; the release is repeated there in the background.
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
