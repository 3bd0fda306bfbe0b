export { createLockClient } from './create-lock-client.js';
export type { LockClientOptions } from './client.options.js';
export type { RedisLockClient } from './redis-lock.client.js';
export type { LockConnectionOptions } from '../connection/connection.options.js';
export type { LockLog } from '../core/lock-log.js';
export * from '../locks.js';
