import { type Duration, parseDuration } from '../../core/duration.js';
import { oneOf } from '../../core/options.js';
import { nodeDrift } from './majority.js';
import { quorumRefusals } from './quorum.messages.js';

/** How a quorum of servers votes. */
export interface QuorumTuning {
  /**
   * Part of a lease that stays unused, because the clocks of the servers and of this process run at different speeds; 2 ms more do
   * in any case. From 0.001 to 0.5.
   * @default 0.01
   */
  driftFactor?: number;
  /**
   * About how long votes that make no majority are kept before they are given back and asked for anew; a random time around it, more
   * when that happens again and again. At least 1 ms. Longer than the servers' answers lie apart: shorter gives up votes in vain, longer leaves a lock that was split between several unused.
   * @default '10ms'
   */
  retryDelay?: Duration;
  /**
   * How long a server gives no new vote after its start, because it may have forgotten what it granted. No lease may be longer. 0 = it
   * votes at once, which is right when the servers keep their data over a restart (`appendfsync always`).
   * @default 0
   */
  restartGuard?: Duration;
  /**
   * Whether fencing tokens increase from holder to holder, whichever servers elect them: costs a second round trip where the servers
   * proposed different tokens. Without, a token says nothing.
   * @default true
   */
  fencing?: boolean;
}

export const quorumDefaults = { driftFactor: 0.01, retryDelay: 10, restartGuard: 0, fencing: true } as const;

/** With their defaults, in milliseconds. */
export interface ResolvedQuorumTuning {
  readonly driftFactor: number;
  readonly retryDelay: number;
  readonly restartGuard: number;
  readonly fencing: boolean;
}

/** More than this would leave nothing of a lease. */
const mostDrift = 0.5;

/** @throws LockConfigurationError naming what is wrong. */
export function resolveQuorumTuning(tuning: { [K in keyof QuorumTuning]?: unknown }): ResolvedQuorumTuning {
  const {
    driftFactor = quorumDefaults.driftFactor,
    retryDelay = quorumDefaults.retryDelay,
    restartGuard = quorumDefaults.restartGuard,
    fencing = quorumDefaults.fencing,
  } = tuning;
  return {
    driftFactor: partOfLease(driftFactor),
    retryDelay: parseDuration('quorum.retryDelay', retryDelay, { min: 1 }),
    restartGuard: parseDuration('quorum.restartGuard', restartGuard, { min: 0 }),
    fencing: oneOf('quorum.fencing', fencing, [true, false]),
  };
}

/** @throws LockConfigurationError for fewer than three nodes, and for an even number of them. */
export function assertQuorumSize(nodes: number): void {
  if (nodes < 3) throw quorumRefusals.tooFew(nodes);
  if (nodes % 2 === 0) throw quorumRefusals.even(nodes);
}

function partOfLease(value: unknown): number {
  if (typeof value === 'number' && value >= nodeDrift && value <= mostDrift) return value;
  throw quorumRefusals.driftFactor(value, nodeDrift, mostDrift);
}
