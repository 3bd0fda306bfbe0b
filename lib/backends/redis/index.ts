export { type DefaultServer, RedisBackend, type RedisBackendOptions } from './redis-backend.js';
export {
  assertConnection,
  assertNode,
  isCluster,
  readUrl,
  unsetHost,
  type RedisConnection,
} from './given-connection.js';
export { parseReplicas, type ReplicasOptions, type ReplicaTerms } from './replica-confirmation.js';
export { readCluster, type RedisClusterOptions } from './cluster/cluster-options.js';
