export { registerLockMetrics, type LockMetricsOptions } from './register-lock-metrics.js';
