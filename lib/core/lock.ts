import type { Duration } from './duration.js';

/**
 * What `acquire` answers: a held lock. Give it back with `release()` or by `await using`.
 *
 * The lock is certain only while `isHeld` is true. Whatever writes to a shared resource should hand over
 * `fencingToken` (the resource refuses smaller ones), whatever takes long should watch `signal`.
 */
export interface Lock extends AsyncDisposable {
  /** The lock name; of several the first in order. */
  readonly key: string;
  /** All its names: without repetitions, in the order in which they were taken. */
  readonly keys: readonly string[];
  /** Larger than the token of every earlier holder of `key`. Microseconds since 1970, or a little more. Says nothing of other names. */
  readonly fencingToken: number;
  /** Each name with its own token: what guards the resource of one name is the token of that name. */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /** Aborts with a `LockLostError` as soon as the lock, or one of its names, is not certain any more; never aborts after the outermost `release()`. */
  readonly signal: AbortSignal;
  /** True only while it is certain that nobody else holds the lock, nor one of its names. Reads the monotonic clock: exact without an `await` before. */
  readonly isHeld: boolean;
  /** Milliseconds of certain lease that are left; 0 when the lock is not held. */
  readonly remaining: number;
  /** 1 for the outermost hold of a flow, 2 for a re-entry inside it, and so on. */
  readonly depth: number;
  /** @throws LockLostError when `isHeld` is false. Call it right before what must not happen without the lock. */
  assertHeld(): void;
  /**
   * Lengthens the lease to `lease` from now (default: the lease it was acquired with). Never shortens it.
   * @throws LockLostError when the lock is lost, LockUnavailableError when Redis did not answer (the lock may still be held).
   */
  renew(lease?: Duration): Promise<void>;
  /**
   * Hands the lock over: answers a ticket with which another process, or another part of this one, goes on with it
   * (`RedisLockService.adopt`), with the same fencing token and without a gap. The lock ends here without being given back: `isHeld` is false,
   * `signal` does not abort, `release()` does nothing. When nobody adopts it, it is free when its lease is over.
   * Whoever has the ticket can adopt the lock. It is good once.
   * @param lease how long the ticket is good, from now (default: the lease it was acquired with)
   * @throws LockLostError when the lock is lost, LockUnavailableError when Redis did not answer (then it is held on here),
   * LockConfigurationError when others inside it use the same hold (re-entry).
   */
  export(lease?: Duration): Promise<string>;
  /**
   * Gives the lock back; the outermost release of a flow frees it. Safe to call twice, safe in `finally`:
   * never rejects, also when the lock was lost or Redis is away (what is left at Redis then ends by itself).
   */
  release(): Promise<void>;
}
