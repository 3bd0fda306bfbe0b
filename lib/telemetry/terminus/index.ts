export { LockHealthIndicator, type LockHealthOptions } from './lock-health.indicator.js';
export type { LockHealthData } from '../../connection/connection-health.js';
export type { LockHealthReason } from '../../core/health.js';
