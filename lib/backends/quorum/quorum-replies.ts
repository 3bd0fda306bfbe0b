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
  const uncertain = errors.some((error) => error instanceof LockUnavailableError && error.uncertain);
  return quorumRefusals.notReached(name, ...countOf(votes, majority), { votes, cause: errors[0], uncertain });
}

/** What the nodes replied, each with its node, and the errors of the others at their positions. */
interface Replies<T> {
  readonly given: ReadonlyArray<readonly [QuorumNode, T]>;
  readonly errors: ReadonlyArray<Error | undefined>;
}

export async function allReplies<T>(
  nodes: readonly QuorumNode[],
  request: (node: QuorumNode) => Promise<T>,
): Promise<Replies<T>> {
  const replies = await Promise.allSettled(nodes.map(request));
  return {
    given: replies.flatMap((reply, position) =>
      reply.status === 'fulfilled' ? [[nodes[position]!, reply.value] as const] : [],
    ),
    errors: replies.map((reply) => (reply.status === 'rejected' ? (reply.reason as Error) : undefined)),
  };
}

/** Too few nodes could be reached as the application started. */
export function notStarted(
  nodes: readonly QuorumNode[],
  errors: ReadonlyArray<Error | undefined>,
  majority: number,
): QuorumNotReachedError {
  const details = connections(nodes, errors);
  return quorumRefusals.notStarted(...countOf(details.votes, majority), details);
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
  request: (node: QuorumNode) => Promise<T>,
): Promise<Replies<T>['given']> {
  const { given, errors } = await allReplies(nodes, request);
  const refused = errors.find((error) => error && !(error instanceof LockUnavailableError));
  if (refused) throw refused;
  if (given.length >= majority) return given;
  const details = connections(nodes, errors);
  throw quorumRefusals.notReached(name, ...countOf(details.votes, majority), details);
}

function connections(nodes: readonly QuorumNode[], errors: ReadonlyArray<Error | undefined>) {
  const votes = nodes.map(({ label: node }, position): NodeVote => {
    const error = errors[position]?.message;
    return error === undefined ? { node, reply: 'connected' } : { node, reply: 'unreachable', error };
  });
  return { votes, cause: errors.find((error) => error !== undefined) };
}

/** For the message: how many replied, of how many, how many are needed, and who did not. */
function countOf(votes: readonly NodeVote[], majority: number) {
  const silent = votes.filter(({ reply }) => reply === 'unreachable').map(({ node }) => node);
  return [votes.length - silent.length, votes.length, majority, silent.join(', ')] as const;
}

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
