import { QuorumBackend } from './backends/quorum/index.js';
import { ClusterBackend, isCluster, RedisBackend } from './backends/redis/index.js';
import type { LockBackend } from './core/lock-backend.js';
import type { LockLog } from './core/lock-log.js';
import { defaultNodeTimeout } from './redis-lock-quorum.options.js';
import type { RedisLockAsyncOptions } from './redis-lock.options.js';

/** The place where the locks of a connection live: one Redis, a cluster, a quorum of several, or whatever was given. */
export function placeOf(options: RedisLockAsyncOptions, log: LockLog): LockBackend {
  const { backend, cluster, quorum, redis, commandTimeout, replicas } = options;
  if (backend) return backend;
  const { keyPrefix, poll } = options;
  const shared = given({ keyPrefix, poll, log });
  if (cluster) return new ClusterBackend({ ...shared, ...given({ commandTimeout }), cluster });
  if (isCluster(redis)) return new ClusterBackend({ ...shared, ...given({ commandTimeout }), cluster: redis });
  if (!quorum) return new RedisBackend({ ...shared, ...given({ redis, commandTimeout, replicas }) });
  const { nodes, nodeTimeout = defaultNodeTimeout, restartGuard = 0, ...tuning } = quorum;
  const node = { uptime: restartGuard !== 0 };
  return new QuorumBackend({
    ...given(tuning),
    restartGuard,
    nodes: nodes.map((server) => new RedisBackend({ ...shared, redis: server, commandTimeout: nodeTimeout, node })),
    log,
  });
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** What is undefined was not given. */
function given<T extends object>(options: T): Given<T> & (T extends { log: LockLog } ? { log: LockLog } : unknown) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
