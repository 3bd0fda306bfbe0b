import type { LockKey } from '../core/lock-key.js';
import {
  type KindOptions,
  type LockOptions,
  type LockTerms,
  lockDefaults,
  lockOptionNames,
  readOptions,
  resolveOptions,
} from '../core/options.js';
import type { ContendedCall } from '../interceptor/contended-call.js';
import type { SignalOfArguments } from '../interceptor/locked-method.js';
import type { ResultKind } from '../interceptor/result-kind.js';
import type { OnContended } from './distributed-lock.types.js';
import { defaultConnection } from '../redis-lock.tokens.js';
import { decoratorRefusals as refusals } from './decorator.messages.js';

/**
 * What `@DistributedLock` takes: every option of an acquisition, and the key. A, F and S are inferred: what the functions among the
 * options ask for.
 */
export type DistributedLockOptions<
  A extends readonly unknown[] = readonly unknown[],
  F extends OnContended = 'throw',
  S extends readonly unknown[] = readonly unknown[],
> = DecoratorOptions<A, F, S> & KindOptions;

interface DecoratorOptions<
  A extends readonly unknown[],
  F extends OnContended,
  S extends readonly unknown[],
> extends Omit<LockTerms, 'signal'> {
  /**
   * What is locked. A template: `#{id}` stands for the argument of that name, `#{order.product.id}` for an own property of
   * it, `#{0}` for the first argument; values are strings, safe integers or bigints, and any two stand apart by a ':'.
   * Several templates: all of these locks or none, whatever their order. Or a function of the method's arguments that answers
   * the name, or the names; under LockInterceptor, of the ExecutionContext.
   */
  key: LockKey | ((...args: A) => LockKey);
  /**
   * What becomes of a call whose lock somebody else has, for the whole of `wait` (LOCK_CONTENDED, LOCK_WAIT_TIMEOUT):
   * `throw` rejects it; `skip` answers undefined, or an Observable or iterable without values; a function is called with the error and the
   * arguments of the method, on its object, and answers in its place. The method is not run. A full queue, an outage of Redis and a lost lock
   * are errors all the same.
   * @default 'throw'
   */
  onContended?: F;
  /**
   * Gives up waiting: the call rejects with the signal's reason. Does not end a lock that is already held. Of each call, by a
   * function of the method's arguments: `(query, signal) => signal`; or one signal for all calls.
   * @default none
   */
  signal?: AbortSignal | ((...args: S) => AbortSignal | undefined);
  /**
   * Name of the connection, as given to `RedisLockModule.forRoot({ name })`.
   * @default the one without a name
   */
  connection?: string;
  /**
   * The parameters' names, in order, for templates, where the source has lost them (minified code).
   * @default read from the source of the class
   */
  params?: readonly string[];
  /**
   * What the method answers, where it can be told neither from the source (`async`) nor from the emitted types.
   * @default read from the source and the types
   */
  returns?: ResultKind;
}

export interface CheckedLockOptions {
  readonly key: unknown;
  readonly params: unknown;
  readonly returns: unknown;
  readonly connection: string;
  readonly onContended: ContendedCall;
  /** Makes the signal of a call, where each has its own. */
  readonly signalOf: SignalOfArguments | undefined;
  readonly lock: LockOptions;
}

const names = ['key', 'onContended', 'connection', 'params', 'returns', ...lockOptionNames] as const;

/** The decorator's argument, every property read once. @throws LockConfigurationError naming the wrong option. */
export function readLockOptions(argument: unknown): CheckedLockOptions {
  const given = typeof argument === 'string' ? { key: argument } : argument;
  const {
    key,
    params,
    returns,
    connection = defaultConnection,
    onContended = 'throw',
    ...lock
  } = readOptions('options', given, names);
  if (typeof connection !== 'string' || connection === '') throw refusals.noConnection(connection);
  if (typeof onContended !== 'function' && onContended !== 'throw' && onContended !== 'skip')
    throw refusals.noContended(onContended);
  const { signal } = lock;
  if (typeof signal === 'function') delete lock.signal;
  // Only for its errors: the values that are left out come from the module, once there is one.
  resolveOptions(lock as LockOptions, lockDefaults);
  return {
    ...{ key, params, returns, connection },
    onContended: onContended as ContendedCall,
    signalOf: typeof signal === 'function' ? (signal as SignalOfArguments) : undefined,
    lock: lock as LockOptions,
  };
}
