import { type Inspect, inspectCustom } from '../errors/describe.js';
import type { ForceReleaseOptions, LockInfo, LockListOptions } from '../core/lock-info.js';
import { type LockKey, type NameIn, assertLockKey, assertLockName, assertWrittenName } from '../core/lock-key.js';
import type { Election } from '../leader/leadership.js';
import { readForceRelease } from '../operators/lock-views.js';
import type { Lock } from '../core/lock.js';
import {
  type AdoptOptions,
  type LockOptions,
  type ResolvedLockOptions,
  resolveAdoption,
  resolveOptions,
} from '../core/options.js';
import { readTicket } from '../core/ticket.js';
import { LockNotAcquiredError } from '../errors/lock-errors.js';
import { aroundPromise } from './around-promise.js';
import { lazyKind } from './lazy-result.js';
import { CallSite, fromCaller } from '../errors/caller-stack.js';
import { atPlace, located } from '../errors/configuration.js';
import { LockConnection } from './lock.connection.js';
import { serviceRefusals } from './connection.messages.js';

/** The calls that take and show locks: of the service in an application, and of a client without one. */
export abstract class Locks {
  private ofHandles: { readonly [call in 'acquire' | 'tryAcquire']: ResolvedLockOptions } | undefined;

  /**
   * @internal
   * @param type the name of the class, for messages
   */
  constructor(
    private readonly connection: LockConnection,
    private readonly type: string,
  ) {}

  /**
   * Takes the lock, waiting for it up to `wait`. Release it with `release()` or `await using`.
   * Several keys: all of them or none, without a deadlock in any order; `wait` is for all together.
   * Inside a flow that holds the key it re-enters. It opens no flow itself; `using` does.
   * @throws LockNotAcquiredError when another caller holds it for all of `wait`, LockUnavailableError when Redis does not answer,
   * LockLostError when the event loop stood still from the grant until the end of the lease, LockConfigurationError for a wrong key or
   * option, and `signal.reason` when the signal aborts.
   */
  async acquire<K extends string>(key: NameIn<K> | ReadonlyArray<NameIn<K>>, options?: LockOptions): Promise<Lock> {
    try {
      return await this.connection.acquire(key, this.resolve('acquire', key, options));
    } catch (error) {
      throw fromCaller(error, Locks.prototype.acquire);
    }
  }

  /**
   * As `acquire`, but resolves to null when the lock is contended (LOCK_CONTENDED, LOCK_WAIT_TIMEOUT).
   * @param options `wait` is 0 by default: one try.
   * @throws as `acquire` for all other errors; LockQueueFullError, too, when a `wait` is given and too many callers wait.
   */
  async tryAcquire<K extends string>(
    key: NameIn<K> | ReadonlyArray<NameIn<K>>,
    options?: LockOptions,
  ): Promise<Lock | null> {
    try {
      return await this.connection.acquire(key, this.resolve('tryAcquire', key, options));
    } catch (error) {
      if (error instanceof LockNotAcquiredError) return null;
      throw fromCaller(error, Locks.prototype.tryAcquire);
    }
  }

  /**
   * Runs `fn` inside the lock and returns its result. Calls inside `fn` re-enter the same key without waiting.
   * @throws what `fn` throws; else as `acquire`, LockLostError when the lock was lost although `fn` succeeded, and LockConfigurationError
   * when `fn` returned a generator, an Observable or a stream, which would run outside of the lock.
   */
  using<T, K extends string = string>(
    key: NameIn<K> | ReadonlyArray<NameIn<K>>,
    fn: (lock: Lock) => T | PromiseLike<T>,
  ): Promise<T>;
  using<T, K extends string = string>(
    key: NameIn<K> | ReadonlyArray<NameIn<K>>,
    options: LockOptions,
    fn: (lock: Lock) => T | PromiseLike<T>,
  ): Promise<T>;
  async using<T>(
    key: LockKey,
    ...rest: [(lock: Lock) => T | PromiseLike<T>] | [LockOptions, (lock: Lock) => T | PromiseLike<T>]
  ): Promise<T> {
    const [options, fn] = rest.length === 1 ? [undefined, rest[0]] : rest;
    const resolved = this.resolve('using', key, options);
    if (typeof fn !== 'function') throw serviceRefusals.noWork(this.type, fn);
    return aroundPromise(
      () => this.connection.enter(key, resolved),
      ({ lock }) => fn(lock),
      (result) => this.refuseLazy('using', result),
    );
  }

  /**
   * Continues a lock that `lock.export()` has handed over, in this process or another: the same keys and fencing tokens, without a gap in
   * which another caller could get them. From now on it is renewed here. With a function, it runs the function inside the lock, as `using`
   * does. A ticket works once, until its lease ends. Later and second calls are refused, even after the first one has ended.
   * @throws LockLostError when the ticket comes too late (reason `expired`) or another caller has adopted it (reason `adopted`),
   * LockUnavailableError when Redis does not answer within `wait`, LockConfigurationError for a value that is no ticket.
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
      const defaults = fn ? this.connection.defaults : this.handleDefaults.acquire;
      return [readTicket(ticket), resolveAdoption(options, defaults)] as const;
    });
    const { name } = content.holds[0]!;
    if (!fn) {
      try {
        return await this.connection.ask(name, resolved, (client, terms) => client.adopt(content, terms));
      } catch (error) {
        throw fromCaller(error, Locks.prototype.adopt);
      }
    }
    return aroundPromise(
      () => this.connection.ask(name, resolved, (client, terms) => client.enterAdopted(content, terms)),
      ({ lock }) => fn(lock),
      (result) => this.refuseLazy('adopt', result),
    );
  }

  /** The innermost lock of the running flow, or its hold of `key`, alone or as one of several names. Undefined outside. */
  current<K extends string>(key?: NameIn<K>): Lock | undefined {
    if (key !== undefined) this.check('current', () => assertWrittenName(key));
    return this.connection.current(key);
  }

  /**
   * The holders and waiters of the lock at one moment, for people and dashboards. The state may have changed by the time it is read: never
   * decide by it whether to work.
   * @throws LockUnavailableError when Redis does not answer, LockConfigurationError for a wrong key.
   */
  async inspect<K extends string>(key: NameIn<K>): Promise<LockInfo> {
    this.check('inspect', () => assertWrittenName(key));
    return this.connection.inspect(key, ({ views }) => views.inspect(key));
  }

  /**
   * Takes the lock from its present holders, readers and permits included, and hands it to the next waiter. The holder's `signal` aborts
   * (at once, or with its next renewal), but its work does not end by that: look with `inspect` first, and mind the fencing token. Each
   * loss is logged as a warning and published to `nestjs-redis-lock:force-released`, with the reason and the person.
   * @param options `fencingToken`: only the holder with this token loses the lock. Give it where a person has looked first: the holder may
   * have changed since.
   * @returns true when a holder lost the lock; false when there was none, or none with this token
   * @throws LockUnavailableError when Redis does not answer, LockConfigurationError for a wrong key or option.
   */
  async forceRelease<K extends string>(key: NameIn<K>, options?: ForceReleaseOptions): Promise<boolean> {
    const checked = this.check('forceRelease', () => {
      assertWrittenName(key);
      return readForceRelease(options);
    });
    return this.connection.inspect(key, ({ views }) => views.forceRelease(key, checked));
  }

  /**
   * The names of the held locks under the prefix, each once: `for await (const name of locks.list())`. It scans the keys in small steps,
   * and may or may not contain locks that come or go during the scan: for operators, not for decisions.
   * @throws LockConfigurationError at once for a wrong option. The iteration rejects with LockUnavailableError when Redis does not answer.
   */
  list(options?: LockListOptions): AsyncIterable<string> {
    const names = this.check('list', () => this.connection.operators.views.list(options));
    const connected = (): Promise<void> => this.connection.inspect(undefined, async () => undefined);
    return (async function* () {
      await connected();
      yield* names;
    })();
  }

  /**
   * The election of this name: one process of all leads. Its candidates stand in line for the lock of the same name,
   * which is its name in metrics, too: build a name with values by `lockName`.
   * @throws LockConfigurationError for a wrong name.
   */
  election<K extends string>(name: NameIn<K>): Election {
    this.check('election', () => {
      assertLockName(name);
      assertLockKey(name);
    });
    return this.connection.election(name);
  }

  toJSON(): object {
    return { connection: this.connection.name };
  }

  /** @internal */
  [inspectCustom](_depth: number, options: object, inspect: Inspect): string {
    return `${this.type} ${inspect(this.toJSON(), options)}`;
  }

  /** Made once: the defaults of calls that return a handle, which the caller has to release. */
  private get handleDefaults(): NonNullable<typeof this.ofHandles> {
    if (!this.ofHandles) {
      const acquire = { ...this.connection.defaults, isByHand: true };
      this.ofHandles = { acquire, tryAcquire: { ...acquire, wait: 0 } };
    }
    return this.ofHandles;
  }

  /** Puts the call in front of an error about its arguments. */
  private check<T>(call: string, action: () => T): T {
    return located(`${this.type}.${call}`, action);
  }

  /** @throws LockConfigurationError for a result that is no more than begun. */
  private refuseLazy(call: 'using' | 'adopt', result: unknown): undefined {
    const kind = lazyKind(result);
    if (kind !== undefined) throw serviceRefusals.lateResult(`${this.type}.${call}`, kind);
  }

  private resolve(
    call: 'acquire' | 'tryAcquire' | 'using',
    key: unknown,
    options: LockOptions | undefined,
  ): ResolvedLockOptions {
    // Without a closure: each call comes through here.
    try {
      assertLockKey(key);
      const defaults = call === 'using' ? this.connection.defaults : this.handleDefaults[call];
      const resolved = resolveOptions(options, defaults);
      return this.connection.watchesNesting ? { ...resolved, site: new CallSite(Locks.prototype[call]) } : resolved;
    } catch (error) {
      throw atPlace(`${this.type}.${call}`, error);
    }
  }
}
