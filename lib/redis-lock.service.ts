import { Injectable } from '@nestjs/common';
import type { LockInfo, LockListOptions } from './core/lock-info.js';
import { type LockKey, assertLockKey } from './core/lock-key.js';
import { assertLockName } from './core/lock-name.js';
import type { LockPlace } from './core/lock-place.js';
import type { Lock } from './core/lock.js';
import {
  type AdoptOptions,
  type LockOptions,
  type ResolvedLockOptions,
  resolveAdoption,
  resolveOptions,
} from './core/options.js';
import { readTicket } from './core/ticket.js';
import { CallSite } from './doctor/call-site.js';
import { isContention } from './errors/contention.js';
import { aroundPromise } from './interceptor/around-promise.js';
import { located } from './interceptor/error-location.js';
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

  /**
   * Goes on with a lock that was handed over by `lock.export()`, in this process or another: the same keys and fencing tokens, with no gap in
   * which somebody else could have them. From now on it is renewed here. With a function it is run inside the lock, as by `using`.
   * A ticket is good once, until its lease is over. Whoever comes later, or second, is refused, also when the first one has ended.
   * @throws LockLostError when the ticket comes too late (reason `expired`) or was adopted by somebody who works (reason `adopted`),
   * LockUnavailableError when Redis does not answer within `wait`, LockConfigurationError for what is no ticket.
   */
  adopt(ticket: string, options?: AdoptOptions): Promise<Lock>;
  adopt<T>(ticket: string, fn: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  adopt<T>(ticket: string, options: AdoptOptions, fn: (lock: Lock) => T | PromiseLike<T>): Promise<T>;
  async adopt<T>(
    ticket: string,
    ...rest: [AdoptOptions?] | [(lock: Lock) => T | PromiseLike<T>] | [AdoptOptions, (lock: Lock) => T | PromiseLike<T>]
  ): Promise<Lock | T> {
    const [options, fn] = typeof rest[0] === 'function' ? [undefined, rest[0]] : [rest[0], rest[1]];
    const [content, resolved] = this.check('adopt', () => {
      if (rest.length > 1 && typeof fn !== 'function') throw serviceRefusals.noAdoptedWork(fn);
      return [readTicket(ticket), resolveAdoption(options, this.connection.client.defaults)] as const;
    });
    const client = await this.connection.ready();
    if (!fn) return client.adopt(content, resolved);
    return aroundPromise(
      () => client.enterAdopted(content, resolved),
      ({ lock }) => fn(lock),
    );
  }

  /** The innermost lock of the running flow, or the hold of `key`, be it one of several or not. Undefined outside. */
  current(key?: string): Lock | undefined {
    return this.connection.client.current(key);
  }

  /**
   * Who holds the lock and who waits for it, at one moment: for people and dashboards. By the time it is read it may be otherwise: never decide
   * by it whether to work.
   * @throws LockUnavailableError when Redis does not answer, LockConfigurationError for a wrong key.
   */
  async inspect(key: string): Promise<LockInfo> {
    this.check('inspect', () => assertLockName(key));
    return (await this.connection.ready()).views.inspect(key);
  }

  /**
   * Takes the lock from whoever holds it now, readers and permits included, and hands it to the next waiter. The holder's `signal` aborts (at
   * once, or with its next renewal), but nothing ends its work: look before with `inspect`, and mind the fencing token. Each is a warning in
   * the log, and told to `nestjs-redis-lock:force-released`.
   * @returns whether it was taken from anybody
   * @throws LockUnavailableError when Redis does not answer, LockConfigurationError for a wrong key.
   */
  async forceRelease(key: string): Promise<boolean> {
    this.check('forceRelease', () => assertLockName(key));
    return (await this.connection.ready()).views.forceRelease(key);
  }

  /**
   * The names of the locks that are held under the prefix, each once: `for await (const name of locks.list())`. It goes over the keys in small
   * steps, and locks that come or go meanwhile may be told or not: for operators, and never to decide by.
   * @throws LockConfigurationError at once for a wrong option; while iterated over, LockUnavailableError when Redis does not answer.
   */
  list(options?: LockListOptions): AsyncIterable<string> {
    const names = this.check('list', () => this.connection.client.views.list(options));
    const { connection } = this;
    return (async function* () {
      await connection.ready();
      yield* names;
    })();
  }

  /** A wrong argument says where it was given. */
  private check<T>(call: string, action: () => T): T {
    return located(`RedisLockService.${call}`, action);
  }

  /** Who called, where locks inside each other are watched. */
  private placeOf(call: 'acquire' | 'tryAcquire' | 'using'): LockPlace | undefined {
    return this.connection.watchesNesting ? new CallSite(RedisLockService.prototype[call]) : undefined;
  }

  private resolve(call: string, key: unknown, options: LockOptions | undefined, wait?: number): ResolvedLockOptions {
    const { defaults } = this.connection.client;
    return this.check(call, () => {
      assertLockKey(key);
      return resolveOptions(options, wait === undefined ? defaults : { ...defaults, wait });
    });
  }
}
