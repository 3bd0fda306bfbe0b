import { QuorumBackend } from '../backends/quorum/index.js';
import { ClusterBackend, RedisBackend } from '../backends/redis/index.js';
import type { LockBackend } from '../core/lock-backend.js';
import type { LockLog } from '../core/lock-log.js';
import type { ResolvedBackendOptions } from './resolve-options.js';

/** The backend of a connection: one Redis, a cluster, a quorum of several servers, or the given one. */
export function createBackend(options: ResolvedBackendOptions, log: LockLog): LockBackend {
  const { backend, cluster, quorum, redis, keyPrefix, commandTimeout, poll, replicas } = options;
  if (backend) return backend;
  const shared = { keyPrefix, poll, log };
  if (cluster) return new ClusterBackend({ ...shared, commandTimeout, cluster });
  if (!quorum) return new RedisBackend({ ...shared, commandTimeout, redis, replicas });
  const { nodes, nodeTimeout, restartGuard } = quorum;
  const node = { uptime: restartGuard !== 0 };
  return new QuorumBackend({
    restartGuard,
    nodes: nodes.map((server) => new RedisBackend({ ...shared, redis: server, commandTimeout: nodeTimeout, node })),
    log,
  });
}
