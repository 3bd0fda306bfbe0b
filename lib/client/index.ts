export type { LockClientOptions } from './connection-of.js';
export { createLockClient, type RedisLockClient } from './redis-lock.client.js';
export type { LockConnectionOptions } from '../connection/connection.options.js';
export type { LockLog } from '../core/lock-log.js';
export * from '../connection/index.js';
