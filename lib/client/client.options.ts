import type { LockConnectionOptions } from '../connection/connection.options.js';
import type { LockLog } from '../core/lock-log.js';

/** The options of `createLockClient`: those of `RedisLockModule.forRoot` that do not concern a Nest application, and the log. */
export interface LockClientOptions extends LockConnectionOptions {
  /**
   * Name of the connection, for messages, channels and metrics, when a process has several.
   * @default none: the default connection
   */
  name?: string | undefined;
  /**
   * Where lost locks, outages and forced releases are logged. Nest's `Logger`, `console` and most loggers fit.
   * @default standard error
   */
  log?: LockLog | undefined;
}
