/**
 * The backends, and where each keeps what: for tests that look into Redis beside them. What else integration, fault and e2e tests need of lib
 * is public.
 */
import { KeptLog } from '../../conformance/kept-log.js';
import { ClusterBackend } from '../../lib/backends/redis/cluster/cluster-backend.js';
import { RedisBackend } from '../../lib/backends/redis/index.js';
import { RedissonBackend } from '../../lib/backends/redis/redisson/redisson-backend.js';
import type { LockClientOptions } from '../../lib/client/connection-of.js';
import { resolveConnection } from '../../lib/connection/resolve-connection.js';

export { QuorumBackend, type QuorumBackendOptions } from '../../lib/backends/quorum/quorum-backend.js';
export { quorumClaimId } from '../../lib/backends/quorum/node-claim-id.js';
export { ClusterBackend, type ClusterBackendOptions } from '../../lib/backends/redis/cluster/cluster-backend.js';
export { clusterKeySpace } from '../../lib/backends/redis/cluster/cluster-keys.js';
export { slotCount, slotOfKey, tagOf } from '../../lib/backends/redis/cluster/slots.js';
export {
  RedisBackend,
  type RedisBackendOptions,
  type RedisClusterOptions,
  type RedisConnection,
} from '../../lib/backends/redis/index.js';
export { keySpace } from '../../lib/backends/redis/keys.js';
export { RedissonBackend } from '../../lib/backends/redis/redisson/redisson-backend.js';
export { ownChannelOf, redissonKeySpace } from '../../lib/backends/redis/redisson/redisson-keys.js';
export { LockHandle } from '../../lib/core/lock-handle.js';
export { scripts as redissonScripts } from '../../lib/backends/redis/redisson/scripts.generated.js';
export { scripts } from '../../lib/backends/redis/scripts.generated.js';
export { LockConnection } from '../../lib/connection/lock.connection.js';
export type { QuorumNotReachedError } from '../../lib/errors/lock-errors.js';

/** These options, with waiters that ask by themselves each `poll` ms only. Users have no such option. */
export function withPoll(
  poll: number,
  { redis, cluster, redisson, keyPrefix, commandTimeout, replicas, ...rest }: LockClientOptions,
): LockClientOptions {
  const given = resolveConnection({ redis, cluster, redisson, keyPrefix, commandTimeout, replicas });
  const settings = { ...given, log: rest.log ?? new KeptLog(), poll };
  const onCluster = given.cluster && { ...settings, cluster: given.cluster };
  const backend = redisson
    ? new RedissonBackend(
        { ...settings, ...given.redisson },
        onCluster && ((format) => new ClusterBackend({ ...onCluster, format })),
      )
    : onCluster
      ? new ClusterBackend(onCluster)
      : new RedisBackend(settings);
  return { ...rest, backend };
}
