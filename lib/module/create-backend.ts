import { RedisBackend } from '../backends/redis/index.js';
import type { LockBackend } from '../core/lock-backend.js';
import type { LockLog } from '../core/lock-log.js';
import type { ResolvedBackendOptions } from './resolve-options.js';

/**
 * The backend of a connection: one Redis, a cluster, a quorum of several servers, or the given one. The code of clusters and of quorums is
 * a fifth of the library: only applications that use it load it. Eager: webpack would write it to a file beside the bundle.
 */
export async function createBackend(options: ResolvedBackendOptions, log: LockLog): Promise<LockBackend> {
  const { backend, cluster, quorum, redis, keyPrefix, commandTimeout, poll, replicas } = options;
  if (backend) return backend;
  const shared = { keyPrefix, poll, log };
  if (cluster) {
    const { ClusterBackend } = await import(/* webpackMode: "eager" */ '../backends/redis/cluster/cluster-backend.js');
    return new ClusterBackend({ ...shared, commandTimeout, cluster });
  }
  if (!quorum) return new RedisBackend({ ...shared, commandTimeout, redis, replicas });
  const { nodes, nodeTimeout, restartGuard } = quorum;
  const { QuorumBackend } = await import(/* webpackMode: "eager" */ '../backends/quorum/quorum-backend.js');
  const node = { uptime: restartGuard !== 0 };
  return new QuorumBackend({
    restartGuard,
    nodes: nodes.map((server) => new RedisBackend({ ...shared, redis: server, commandTimeout: nodeTimeout, node })),
    log,
  });
}
