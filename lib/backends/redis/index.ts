export { RedisBackend, type RedisBackendOptions } from './redis-backend.js';
export { readUrl, type RedisConnection } from './redis-connection.js';
export { parseReplicas, type ReplicasOptions, type ReplicaTerms } from './replica-confirmation.js';
export { isCluster, readCluster, type RedisClusterOptions } from './cluster/cluster-options.js';
