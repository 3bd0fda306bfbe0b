export { LockHealthIndicator, type LockHealthOptions } from './lock-health.indicator.js';
export type { LockHealthData } from '../../operators/health.js';
export type { LockHealthReason } from '../../operators/health.js';
