import type { LockBackend } from 'nestjs-redis-lock/backend';
import type { SuiteTime } from './time.js';

export interface TargetOptions {
  /** ms */
  poll?: number;
  /** ms; default: long enough for a busy machine. */
  commandTimeout?: number;
  /** Messages never reach this client. */
  polling?: boolean;
}

/** Where locks live, such as one Redis server: what the suite needs of it. */
export interface ConformanceTarget {
  /** A backend for one more client, not started. */
  backend(options?: TargetOptions): LockBackend;
  /** The client of this backend crashes, without closing. Resolves when the target has noticed it. */
  crash(backend: LockBackend, clientId: string): Promise<void>;
  close(): Promise<void>;
  /** The clock of its backends, when it is virtual. @default real time passes */
  readonly clock?: SuiteTime;
  /** True for a name that it refuses with a LockConfigurationError. @default it has locks of all names */
  refuses?(name: string): boolean;
}
