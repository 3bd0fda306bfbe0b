export { RedisLockModule } from './module/redis-lock.module.js';
export type {
  RedisLockAsyncOptions,
  RedisLockModuleOptions,
  RedisLockOptionsFactory,
} from './module/redis-lock.options.js';
export type { RedisLockQuorumOptions } from './connection/connection.options.js';
export { RedisLockService } from './connection/redis-lock.service.js';
export { getRedisLockToken } from './connection/redis-lock.tokens.js';
export { DistributedLock } from './method/distributed-lock.decorator.js';
export type { DistributedLockOptions } from './method/distributed-lock.options.js';
export { Leader, LeaderOnly } from './leader/leader.decorator.js';
export type { Election, Leadership } from './leader/leadership.js';
export { InjectRedisLock } from './connection/redis-lock.tokens.js';
export { LockInterceptor } from './request/lock.interceptor.js';
export { LockErrorFilter } from './request/lock-error.filter.js';
export type { Duration } from './core/duration.js';
export type { Lock } from './core/lock.js';
export type { LockKey } from './core/lock-key.js';
export { lockName } from './key/lock-name.tag.js';
export type { LockKind } from './core/lock-backend.js';
export type {
  ForceReleaseOptions,
  LockHolderInfo,
  LockInfo,
  LockListOptions,
  LockWaiterInfo,
} from './core/lock-info.js';
export type { LockFindingCode } from './core/lock-finding.js';
export type { LockChannels, LockSubject } from './diagnostics/channels.js';
export type { LockLabelOptions } from './metrics/lock-labels.js';
export { currentLock } from './core/lock-flow.js';
export type { AdoptOptions, LockOptions } from './core/options.js';
export {
  LockConfigurationError,
  LockError,
  type LockErrorCode,
  type LockHolder,
  LockKindMismatchError,
  LockLostError,
  type LockLostReason,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockUpgradeError,
  LockWaitTimeoutError,
  type NodeVote,
  QuorumNotReachedError,
} from './errors/lock-errors.js';
