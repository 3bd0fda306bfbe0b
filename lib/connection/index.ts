/** What the entries with locks have in common: `nestjs-redis-lock` and `nestjs-redis-lock/client`. */
export type { RedisClusterOptions, RedisConnection, ReplicasOptions } from '../backends/redis/index.js';
export type { RedisLockQuorumOptions, RedissonOptions } from './connection.options.js';
export type { Locks } from './locks.js';
export type { Duration } from '../core/duration.js';
export type { LockKind } from '../core/lock-backend.js';
export { currentLock } from '../core/lock-flow.js';
export type {
  ForceReleaseOptions,
  HolderState,
  LockHolderInfo,
  LockInfo,
  LockListOptions,
  LockState,
  LockWaiterInfo,
  WaiterState,
} from '../core/lock-info.js';
export type { LockKey } from '../core/lock-key.js';
export type { Lock } from '../core/lock.js';
export type {
  AdoptOptions,
  Fairness,
  LockDefaults,
  LockOptions,
  LockSharing,
  LockTerms,
  OnLost,
  ReleaseMode,
  RenewFrom,
} from '../core/options.js';
export type {
  LockAcquireContext,
  LockAcquireOutcome,
  LockChannels,
  LockHoldContext,
  LockSubject,
} from '../diagnostics/channels.js';
export { lockName } from '../key/lock-name.tag.js';
export type { CampaignOptions, Election, Leadership, ObserveOptions } from '../leader/leadership.js';
export {
  LockConfigurationError,
  LockError,
  type LockErrorCode,
  type LockErrorOptions,
  type LockHolder,
  LockKindMismatchError,
  LockLostError,
  type LockLostReason,
  LockNotAcquiredError,
  type LockParty,
  LockQueueFullError,
  LockUnavailableError,
  LockUpgradeError,
  LockWaitTimeoutError,
  type NodeVote,
  QuorumNotReachedError,
} from '../errors/lock-errors.js';
