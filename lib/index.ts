export { RedisLockModule } from './redis-lock.module.js';
export type { RedisLockAsyncOptions, RedisLockModuleOptions, RedisLockOptionsFactory } from './redis-lock.options.js';
export type { RedisLockQuorumOptions } from './redis-lock-quorum.options.js';
export { RedisLockService } from './redis-lock.service.js';
export { DistributedLock } from './decorators/distributed-lock.decorator.js';
export type { DistributedLockOptions } from './decorators/distributed-lock.options.js';
export { InjectRedisLock } from './decorators/inject-redis-lock.decorator.js';
export { LockInterceptor } from './interceptor/lock.interceptor.js';
export { LockErrorFilter } from './filters/lock-error.filter.js';
export type { Duration } from './core/duration.js';
export type { Lock } from './core/lock.js';
export type { LockKey } from './core/lock-key.js';
export type {
  AcquireReply,
  AcquireRequest,
  BackendCapabilities,
  AdoptReply,
  AdoptRequest,
  ClaimRef,
  HolderRef,
  HolderSnapshot,
  LockBackend,
  LockBackendEvents,
  LockDemand,
  LockKind,
  LockSnapshot,
  Outlook,
  PushedGrant,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  WaiterSnapshot,
} from './core/lock-backend.js';
export type { LockHolderInfo, LockInfo, LockListOptions, LockPartyInfo, LockWaiterInfo } from './core/lock-info.js';
export type { LockFinding, LockFindingCode } from './core/lock-finding.js';
export { currentLock } from './core/lock-flow.js';
export type { AdoptOptions, KindOptions, LockOptions, LockTerms, PermitOptions, ShareOptions } from './core/options.js';
export {
  LockConfigurationError,
  LockError,
  type LockErrorCode,
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
