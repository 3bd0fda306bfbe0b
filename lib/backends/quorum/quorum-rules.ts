import type { PushedGrant } from '../../core/lock-backend.js';
import type { QuorumNode } from './quorum-node.js';

/** What every candidacy of a quorum goes by. */
export interface QuorumRules {
  readonly nodes: readonly QuorumNode[];
  readonly majority: number;
  readonly driftFactor: number;
  /** ms */
  readonly retryDelay: number;
  readonly fencing: boolean;
  /** ms */
  readonly poll: number;
  readonly claimWindow: number;
  /** ms after an election in which votes count that were on their way */
  readonly stragglers: number;
  now(): number;
  timer(delay: number, fn: () => void): () => void;
  /** From 0 to 1. */
  random(): number;
  /** A waiting claim was elected between two questions. */
  granted(grant: PushedGrant): void;
  forget(claim: string): void;
}
