export type { Clock } from '../core/clock.js';
export {
  MemoryLockBackend,
  type MemoryLockBackendOptions,
  type MemoryFaults,
  MemoryLockServer,
  type MemoryLockServerOptions,
} from '../backends/memory/index.js';
export { LockTestBed, type LockTestBedOptions } from './lock-test-bed.js';
export type { OtherProcess } from './other-process.js';
export { lockTestBedToken, RedisLockTestingModule, type RedisLockTestingOptions } from './redis-lock-testing.module.js';
export { VirtualClock } from './virtual-clock.js';
