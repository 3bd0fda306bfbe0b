export { instrument, RedisLockInstrumentation } from './instrumentation.js';
export type { RedisLockInstrumentationConfig } from './config.js';
