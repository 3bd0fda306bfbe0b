/** What the entries with locks have in common: `nestjs-redis-lock` and `nestjs-redis-lock/client`. */
export type { RedisLockQuorumOptions } from './connection/connection.options.js';
export type { Duration } from './core/duration.js';
export type { LockKind } from './core/lock-backend.js';
export { currentLock } from './core/lock-flow.js';
export type {
  ForceReleaseOptions,
  LockHolderInfo,
  LockInfo,
  LockListOptions,
  LockWaiterInfo,
} from './core/lock-info.js';
export type { LockKey } from './core/lock-key.js';
export type { Lock } from './core/lock.js';
export type { AdoptOptions, LockOptions } from './core/options.js';
export type { LockChannels, LockSubject } from './diagnostics/channels.js';
export { lockName } from './key/lock-name.tag.js';
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
