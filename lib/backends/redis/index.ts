export { RedisBackend, type RedisBackendOptions } from './redis-backend.js';
export type { RedisConnection } from './redis-connection.js';
export { parseReplicas, type ReplicasOptions } from './replica-confirmation.js';
