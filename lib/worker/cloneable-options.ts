import { cloneableCluster, cloneableConnection } from '../backends/redis/cloneable-connection.js';
import type { ResolvedBackendOptions } from '../connection/resolve-connection.js';
import { workerRefusals } from './worker.messages.js';

/** The backend's options as values that a thread can get. @throws LockConfigurationError */
export function cloneableOptions({
  backend,
  quorum,
  redis,
  cluster,
  keyPrefix,
  commandTimeout,
  replicas,
  redisson,
}: ResolvedBackendOptions): ResolvedBackendOptions {
  if (backend) throw workerRefusals.ownBackend();
  if (quorum) throw workerRefusals.quorum();
  return {
    backend,
    quorum,
    redis: redis && cloneableConnection('redis', redis),
    cluster: cluster && cloneableCluster(cluster),
    keyPrefix,
    commandTimeout,
    replicas,
    redisson,
  };
}
