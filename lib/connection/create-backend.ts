import type { QuorumBackend } from '../backends/quorum/quorum-backend.js';
import type { ClusterBackend } from '../backends/redis/cluster/cluster-backend.js';
import type { RedissonBackend } from '../backends/redis/redisson/redisson-backend.js';
import { RedisBackend } from '../backends/redis/index.js';
import type { LockBackend } from '../core/lock-backend.js';
import type { LockLog } from '../core/lock-log.js';
import type { ResolvedBackendOptions } from './resolve-connection.js';

/** The backends that few applications use. */
interface RareBackends {
  readonly ClusterBackend?: typeof ClusterBackend | undefined;
  readonly QuorumBackend?: typeof QuorumBackend | undefined;
  readonly RedissonBackend?: typeof RedissonBackend | undefined;
}

/**
 * The code of clusters, of quorums and of Redisson's format is a fifth of the library: only applications that use it load it. Eager: webpack
 * would write it to a file beside the bundle.
 */
export async function loadBackends({ cluster, quorum, redisson }: ResolvedBackendOptions): Promise<RareBackends> {
  return {
    ...(cluster && (await import(/* webpackMode: "eager" */ '../backends/redis/cluster/cluster-backend.js'))),
    ...(redisson && (await import(/* webpackMode: "eager" */ '../backends/redis/redisson/redisson-backend.js'))),
    ...(quorum && (await import(/* webpackMode: "eager" */ '../backends/quorum/quorum-backend.js'))),
  };
}

interface BackendSettings extends RareBackends {
  readonly log: LockLog;
  /** True when it only shows locks: it needs no permission to write. */
  readonly observes?: boolean;
}

/** The backend of a connection: one Redis, a cluster, a quorum of several servers, or the given one. */
export function createBackend(
  options: ResolvedBackendOptions,
  { log, observes = false, ...rare }: BackendSettings,
): LockBackend {
  const { backend, cluster, quorum, redis, keyPrefix, commandTimeout, replicas, redisson, byDefault } = options;
  if (backend) return backend;
  const shared = { keyPrefix, log, observes };
  const onCluster = cluster && { ...shared, commandTimeout, cluster };
  if (redisson)
    return new rare.RedissonBackend!(
      { ...shared, ...redisson, commandTimeout, redis, replicas, byDefault },
      onCluster && ((format) => new rare.ClusterBackend!({ ...onCluster, format })),
    );
  if (onCluster) return new rare.ClusterBackend!(onCluster);
  if (!quorum) return new RedisBackend({ ...shared, commandTimeout, redis, replicas, byDefault });
  const { nodes, nodeTimeout, restartGuard } = quorum;
  const node = { uptime: restartGuard !== 0 };
  return new rare.QuorumBackend!({
    restartGuard,
    nodes: nodes.map((server) => new RedisBackend({ ...shared, redis: server, commandTimeout: nodeTimeout, node })),
    log,
  });
}
