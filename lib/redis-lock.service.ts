import { Injectable } from '@nestjs/common';
import { type LockKey, assertLockKey } from './core/lock-key.js';
import type { LockPlace } from './core/lock-place.js';
import type { Lock } from './core/lock.js';
import { type LockOptions, type ResolvedLockOptions, resolveOptions } from './core/options.js';
import { CallSite } from './doctor/call-site.js';
import { isContention } from './errors/contention.js';
import { aroundPromise } from './interceptor/around-promise.js';
import { atPlace } from './interceptor/error-location.js';
import { LockConnection } from './redis-lock.connection.js';
import { serviceRefusals } from './redis-lock.messages.js';

/** Locks by call. For whole methods there is `@DistributedLock`. */
@Injectable()
export class RedisLockService {
  constructor(private readonly connection: LockConnection) {}

  /**
   * Takes the lock, waiting for it up to `wait`. Give it back with `release()` or `await using`.
   * Several keys: all of them or none, without a deadlock whatever their order; `wait` is for all together.
   * Inside a flow that holds the key it re-enters; it opens no flow itself, use `using` for that.
   * @throws LockNotAcquiredError when it is not to be had in time, LockUnavailableError when Redis does not answer,
   * LockConfigurationError for a wrong key or option, and `signal.reason` when the signal aborts.
   */
  acquire(key: LockKey, options?: LockOptions): Promise<Lock> {
    try {
      return this.connection.acquire(key, this.resolve('acquire', key, options), this.placeOf('acquire'));
    } catch (error) {
      const reason = error as Error;
      return Promise.reject(reason);
    }
  }

  /**
   * As `acquire`, but answers null where the lock is contended (LOCK_CONTENDED, LOCK_WAIT_TIMEOUT).
   * @param options `wait` is 0 where left out: one try.
   */
  async tryAcquire(key: LockKey, options?: LockOptions): Promise<Lock | null> {
    const resolved = this.resolve('tryAcquire', key, options, 0);
    try {
      return await this.connection.acquire(key, resolved, this.placeOf('tryAcquire'));
    } catch (error) {
      if (isContention(error)) return null;
      throw error;
    }
  }

  /**
   * Runs `fn` inside the lock and answers its result. What `fn` calls re-enters the same key without waiting.
   * @throws what `fn` throws; else as `acquire`, and LockLostError when the lock was lost although `fn` ended well.
   */
  using<T>(key: LockKey, fn: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  using<T>(key: LockKey, options: LockOptions, fn: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  async using<T>(
    key: LockKey,
    ...rest: [(lock: Lock) => T | PromiseLike<T>] | [LockOptions, (lock: Lock) => T | PromiseLike<T>]
  ): Promise<T> {
    const [options, fn] = rest.length === 1 ? [undefined, rest[0]] : rest;
    const resolved = this.resolve('using', key, options);
    if (typeof fn !== 'function') throw serviceRefusals.noWork(fn);
    const place = this.placeOf('using');
    return aroundPromise(
      () => this.connection.enter(key, resolved, place),
      ({ lock }) => fn(lock),
    );
  }

  /** The innermost lock of the running flow, or the hold of `key`, be it one of several or not. Undefined outside. */
  current(key?: string): Lock | undefined {
    return this.connection.client.current(key);
  }

  /** Who called, where locks inside each other are watched. */
  private placeOf(call: 'acquire' | 'tryAcquire' | 'using'): LockPlace | undefined {
    return this.connection.watchesNesting ? new CallSite(RedisLockService.prototype[call]) : undefined;
  }

  private resolve(call: string, key: unknown, options: LockOptions | undefined, wait?: number): ResolvedLockOptions {
    const { defaults } = this.connection.client;
    try {
      assertLockKey(key);
      return resolveOptions(options, wait === undefined ? defaults : { ...defaults, wait });
    } catch (error) {
      throw atPlace(`RedisLockService.${call}`, error);
    }
  }
}
