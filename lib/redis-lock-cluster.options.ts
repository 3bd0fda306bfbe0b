import type { Cluster } from 'ioredis';
import { isCluster, readCluster, type RedisClusterOptions } from './backends/redis/index.js';
import { moduleRefusals as refusals } from './redis-lock.messages.js';

/**
 * One way to one cluster, and nothing that a cluster cannot do.
 * @throws LockConfigurationError naming the wrong option.
 */
export function assertCluster(given: {
  redis?: unknown;
  cluster?: unknown;
  quorum?: unknown;
  replicas?: unknown;
}): void {
  const { redis, cluster, quorum, replicas } = given;
  if (cluster === undefined && !isCluster(redis)) return;
  if (cluster !== undefined && redis !== undefined) throw refusals.twoPlaces('cluster', 'redis');
  if (quorum !== undefined) throw refusals.twoPlaces('cluster', 'quorum');
  if (replicas !== undefined) throw refusals.replicasOfCluster();
  if (isCluster(cluster)) throw refusals.clusterClient();
  readCluster((cluster ?? redis) as Cluster | RedisClusterOptions);
}
