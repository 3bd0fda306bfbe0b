import { assertQuorumSize, type QuorumTuning, resolveQuorumTuning } from './backends/quorum/index.js';
import type { RedisConnection } from './backends/redis/index.js';
import { describe } from './core/describe.js';
import { type Duration, parseDuration } from './core/duration.js';
import { readOptions } from './core/options.js';
import { moduleRefusals as refusals } from './redis-lock.messages.js';

/** Locks over several independent Redis servers: whoever is granted the lock by a majority of them holds it. */
export interface RedisLockQuorumOptions extends QuorumTuning {
  /**
   * The servers, as for `redis`: 3, 5 or 7 of them that share nothing, no replicas of each other. All processes name the same ones.
   */
  nodes: readonly RedisConnection[];
  /**
   * How long one server may take to answer one command; it counts as not reached then, and the others go on. At least 10 ms, and far
   * below the lease: what a majority needs to answer is taken off it.
   * @default '500ms'
   */
  nodeTimeout?: Duration;
}

export const defaultNodeTimeout = 500;

const names = ['nodes', 'nodeTimeout', 'driftFactor', 'retryDelay', 'restartGuard', 'fencing'] as const;

/**
 * @param lease of the module, in ms
 * @throws LockConfigurationError naming the wrong option.
 */
export function assertQuorum(options: unknown, lease: number): void {
  const given = readOptions('quorum', options, names);
  if (!Array.isArray(given.nodes)) throw refusals.noNodes(given.nodes);
  assertQuorumSize(given.nodes.length);
  for (const node of given.nodes) assertRedisConnection('quorum.nodes', node);
  if (given.nodeTimeout !== undefined) parseDuration('quorum.nodeTimeout', given.nodeTimeout, { min: 10 });
  const { restartGuard } = resolveQuorumTuning(given);
  if (restartGuard > 0 && restartGuard < lease) throw refusals.shortGuard(restartGuard, lease);
}

/** ioredis takes nearly everything, and falls back to localhost for what it does not understand. */
export function assertRedisConnection(option: string, given: unknown): void {
  const understood =
    typeof given === 'string'
      ? /^(rediss?:\/\/|\/)/.test(given)
      : typeof given === 'object' && given !== null && !Array.isArray(given);
  // A URL may hold a password.
  if (!understood) throw refusals.noRedis(option, typeof given === 'string' ? 'this string' : describe(given));
}
