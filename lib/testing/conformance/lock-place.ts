import type { LockBackend } from '../../core/lock-backend.js';

export interface PlaceOptions {
  /** ms */
  poll?: number;
  /** ms; left out: long enough for a busy machine. */
  commandTimeout?: number;
  /** Messages never reach it. */
  deaf?: boolean;
}

/** Where locks live, e.g. one Redis server: what the suites need of it. */
export interface LockPlace {
  /** A backend for one more client, not started. */
  backend(options?: PlaceOptions): LockBackend;
  /** The client of this backend dies without a farewell; settles when the place knows. */
  crash(backend: LockBackend, clientId: string): Promise<void>;
  close(): Promise<void>;
}
