import type { PushedGrant } from '../../core/lock-backend.js';
import type { QuorumNode } from './quorum-node.js';
import { quorumRefusals } from './quorum.messages.js';

/** The rules for all claims of a quorum. */
export interface QuorumRules {
  readonly nodes: readonly QuorumNode[];
  readonly majority: number;
  /** ms */
  readonly poll: number;
  readonly claimWindow: number;
  /** Longest time in ms that a node's reply takes. Votes that come so late after an election were on their way, and count. */
  readonly nodeTimeout: number;
  now(): number;
  timer(delay: number, fn: () => void): () => void;
  /** From 0 to 1. */
  random(): number;
  /** A waiting claim was granted between two requests. */
  granted(grant: PushedGrant): void;
  forget(claim: string): void;
}

/** @throws LockConfigurationError for fewer than three nodes, and for an even number of them. */
export function assertQuorumSize(nodes: number): void {
  if (nodes < 3) throw quorumRefusals.tooFew(nodes);
  if (nodes % 2 === 0) throw quorumRefusals.even(nodes);
}

/** How many nodes must have given their vote: any two majorities share a node. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** The bound that at least `count` of the values reach: the `count`-th largest. */
export function reachedBy(values: readonly number[], count: number): number {
  return [...values].sort((a, b) => b - a)[count - 1] ?? Number.NEGATIVE_INFINITY;
}

/** The part of a lease that a node's own bound leaves unused already (`certainUntil`), beside its 2 ms. */
const nodeDrift = 0.001;

/** The part of a lease that a quorum leaves unused: the clocks of N servers and of this process run at slightly different speeds. */
const drift = 0.01;

/**
 * The moment up to which a vote counts: its lease minus 1 % of it and 2 ms.
 * @param validUntil the node's own bound, on this process's clock and counted from before the request was sent
 */
export function countsUntil(validUntil: number, lease: number): number {
  return validUntil - (drift - nodeDrift) * lease;
}
