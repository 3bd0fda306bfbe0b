import type { LockBackend } from '../../lib/core/lock-backend.js';

/** Where locks live, e.g. one Redis server: what the suites need of it. */
export interface LockPlace {
  /** A backend for one more client, not started. `deaf`: messages never reach it. `poll` in ms. */
  backend(options?: { poll?: number; deaf?: boolean }): LockBackend;
  /** The client of this backend dies without a farewell; settles when the place knows. */
  crash(backend: LockBackend, clientId: string): Promise<void>;
  close(): Promise<void>;
}
