import type { Duration } from './duration.js';

/**
 * A held lock, as `acquire` returns it. Release it with `release()` or by `await using`.
 *
 * The lock is certain only while `isHeld` is true. Pass `fencingToken` with each write to a shared resource, so that the resource can
 * refuse smaller tokens. Long work should stop when `signal` aborts.
 */
export interface Lock extends AsyncDisposable {
  /** The lock name. The first in order when there are several. */
  readonly key: string;
  /** All its names, without duplicates, in the order in which they were taken. */
  readonly keys: readonly string[];
  /**
   * Larger than the token of each earlier holder of `key`. Microseconds since 1970, or a little more. Cannot be compared with tokens of
   * other names.
   */
  readonly fencingToken: number;
  /** Each name with its own token. Guard the resource of a name with the token of that name. */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /**
   * Aborts with a `LockLostError` as soon as the lock, or one of its names, is no longer certain. Never aborts after the outermost
   * `release()`. Its listeners run outside of all requests: AsyncLocalStorage has no store there.
   */
  readonly signal: AbortSignal;
  /**
   * True only while it is certain that no other caller holds the lock or one of its names. Reads the monotonic clock, so no `await` is
   * needed before it.
   */
  readonly isHeld: boolean;
  /** Milliseconds left of the certain lease; 0 when the lock is not held. */
  readonly leaseLeft: number;
  /** 1 for the outermost hold of a flow, 2 for a re-entry inside it, and so on. */
  readonly depth: number;
  /**
   * Throws unless the lock is certain. Call it right before a step that must not run without the lock.
   * @throws LockLostError when `isHeld` is false.
   */
  assertHeld(): void;
  /**
   * Extends the lease to `lease` from now (default: the lease it was acquired with). Never shortens it.
   * @throws LockLostError when the lock is lost, LockUnavailableError when Redis did not answer (the lock may still be held).
   */
  renew(lease?: Duration): Promise<void>;
  /**
   * Hands the lock over: returns a ticket with which another process, or another part of this one, continues it (`RedisLockService.adopt`),
   * with the same fencing token and without a gap. The lock ends here without being released: `isHeld` is false, `signal` does not abort,
   * `release()` does nothing. A lock that no process adopts is free when its lease ends.
   * Any holder of the ticket can adopt the lock. A ticket works once.
   * @param lease how long the ticket is valid, from now (default: the lease it was acquired with). Never shorter than the rest of the
   * present lease.
   * @throws LockLostError when the lock is lost, LockUnavailableError when Redis did not answer (the lock is still held here then),
   * LockConfigurationError when other callers inside it use the same hold (re-entry).
   */
  export(lease?: Duration): Promise<string>;
  /**
   * Releases the lock; the outermost release of a flow frees it. Safe to call twice, safe in `finally`: it never rejects, even when the
   * lock was lost or Redis is unavailable (the record in Redis then expires).
   */
  release(): Promise<void>;
}

/** The public state of a lock, for logs and failing tests. */
export function pictureOf({ keys, fencingToken, isHeld, leaseLeft }: Lock): object {
  const name = keys.length > 1 ? { keys } : { key: keys[0] };
  return { ...name, fencingToken, isHeld, leaseLeft: Math.floor(leaseLeft) };
}

/**
 * One piece of work inside a lock: taken (or re-entered) by `LockClient.enter`, left exactly once.
 * `using`, the decorator and the interceptor use it in the same three steps: enter, run, leave.
 */
export interface LockScope {
  readonly lock: Lock;
  /** Runs `fn` synchronously in the flow of this lock: everything that it starts re-enters the same lock. */
  run<T>(fn: () => T): T;
  /**
   * Ends the work; the outermost one releases the lock and waits for the reply. Calling it again changes nothing.
   * @param outcome `worked`: the guarded work succeeded; `failed`: it threw, and the caller sees its error.
   * @throws LockLostError after `worked`, when the lock was lost during the work and `onLost` is 'throw'. Never after `failed`.
   */
  leave(outcome: 'worked' | 'failed'): Promise<void>;
}
