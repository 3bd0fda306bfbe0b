export { RedisLockModule } from './nest/module/redis-lock.module.js';
export type {
  RedisLockAsyncOptions,
  RedisLockFactoryOptions,
  RedisLockModuleOptions,
  RedisLockOptionsFactory,
} from './nest/module/redis-lock.options.js';
export { RedisLockService } from './connection/redis-lock.service.js';
export { getRedisLockToken } from './connection/redis-lock.tokens.js';
export { DistributedLock } from './nest/method/distributed-lock.decorator.js';
export type { DistributedLockOptions, DistributedLockTerms } from './nest/method/distributed-lock.options.js';
export type {
  DistributedLockDecorator,
  FallbackMismatch,
  KeyFunctionMismatch,
  LockableMethod,
  OnContended,
  SignalFunctionMismatch,
  SkipMismatch,
  ThisMismatch,
} from './nest/method/distributed-lock.types.js';
export type { ResultKind } from './nest/around/result-kind.js';
export { Leader, LeaderOnly } from './nest/leader/leader.decorator.js';
export type {
  LeaderDecorator,
  LeaderOnlyDecorator,
  LeaderOnlyMismatch,
  LeaderOptions,
} from './nest/leader/leader.decorator.js';
export { InjectRedisLock } from './nest/module/inject-redis-lock.decorator.js';
export { LockInterceptor } from './nest/request/lock.interceptor.js';
export { LockErrorFilter } from './nest/request/lock-error.filter.js';
export type { LockFindingCode } from './diagnostics/lock-finding.js';
export type { LockLabelOptions } from './telemetry/metrics/lock-labels.js';
export * from './connection/index.js';
