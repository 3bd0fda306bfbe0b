export { RedisLockModule } from './module/redis-lock.module.js';
export type {
  RedisLockAsyncOptions,
  RedisLockModuleOptions,
  RedisLockOptionsFactory,
} from './module/redis-lock.options.js';
export { RedisLockService } from './connection/redis-lock.service.js';
export { getRedisLockToken } from './connection/redis-lock.tokens.js';
export { DistributedLock } from './method/distributed-lock.decorator.js';
export type { DistributedLockOptions } from './method/distributed-lock.options.js';
export { Leader, LeaderOnly } from './leader/leader.decorator.js';
export type { Election, Leadership } from './leader/leadership.js';
export { InjectRedisLock } from './connection/redis-lock.tokens.js';
export { LockInterceptor } from './request/lock.interceptor.js';
export { LockErrorFilter } from './request/lock-error.filter.js';
export type { LockFindingCode } from './core/lock-finding.js';
export type { LockLabelOptions } from './metrics/lock-labels.js';
export * from './locks.js';
