export { RedisBackend, type RedisBackendOptions } from './redis-backend.js';
export type { RedisConnection } from './redis-connection.js';
