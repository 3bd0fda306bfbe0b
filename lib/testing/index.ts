export {
  type LockView,
  MemoryLockBackend,
  type MemoryLockBackendOptions,
  type MemoryFaults,
  MemoryLockServer,
  type MemoryLockServerOptions,
} from '../backends/memory/index.js';
export { LockTestBed, type LockTestBedOptions } from './lock-test-bed.js';
export { lockTestBedToken, RedisLockTestingModule, type RedisLockTestingOptions } from './redis-lock-testing.module.js';
export { VirtualClock } from './virtual-clock.js';
export { lockBackendConformance } from './conformance/lock-backend.conformance.js';
export type { LockPlace, PlaceOptions } from './conformance/lock-place.js';
export type { TestFramework } from './conformance/test-framework.js';
