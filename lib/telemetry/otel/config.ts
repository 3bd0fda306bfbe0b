import type { LockLabelOptions } from '../metrics/lock-labels.js';

/** Options of `RedisLockInstrumentation` and `instrument`. */
export interface RedisLockInstrumentationConfig extends LockLabelOptions {
  /**
   * Which spans are made. `contended`: of requests that waited or failed, and of the holds after such waits; a lock that was free is one
   * command, which the instrumentation of ioredis shows. `all`: of each request and each hold. `none`: metrics only.
   * @default 'contended'
   */
  spans?: 'contended' | 'all' | 'none' | undefined;
  /**
   * Adds the attribute `redis_lock.key` to spans. Keys may contain text of users.
   * @default false
   */
  keys?: boolean | undefined;
  /**
   * Links the span of a wait to the holder's trace in another process, too. For that the record in Redis names the trace of the caller
   * that requested the lock, when it is sampled: 50 bytes more.
   * @default false: inside one process
   */
  linkProcesses?: boolean | undefined;
  /**
   * False: only `enable()` begins.
   * @default true
   */
  enabled?: boolean;
}
