import type { LockKey } from '../../core/lock-key.js';
import {
  type LockSharing,
  type LockOptions,
  type LockTerms,
  lockDefaults,
  lockOptionNames,
  resolveOptions,
} from '../../core/options.js';
import { readOptions } from '../../errors/read-options.js';
import type { ContendedCall } from '../around/contended-call.js';
import type { SignalOfArguments } from './locked-method.js';
import type { ResultKind } from '../around/result-kind.js';
import type { OnContended } from './distributed-lock.types.js';
import { defaultConnection } from '../../connection/connection.options.js';
import { placeRefusals } from '../base/decorator.messages.js';
import { decoratorRefusals as refusals } from './method.messages.js';

/**
 * The options of `@DistributedLock`: those of an acquisition, and the key. The type parameters are inferred from the functions among the options.
 */
export type DistributedLockOptions<
  KeyArgs extends readonly unknown[] = readonly unknown[],
  Contended extends OnContended = 'throw',
  SignalArgs extends readonly unknown[] = readonly unknown[],
  This = unknown,
> = Same<DistributedLockTerms<KeyArgs, Contended, SignalArgs, This>> & LockSharing;

/**
 * An editor shows the comments of a property when it is the same in all parts of a union. In a generic interface it would not, so the
 * properties are copied.
 */
type Same<T> = { [K in keyof T]: T[K] };

export interface DistributedLockTerms<
  KeyArgs extends readonly unknown[],
  Contended extends OnContended,
  SignalArgs extends readonly unknown[],
  This,
> extends Omit<LockTerms, 'signal'> {
  /**
   * The lock name. A template: `#{id}` is the argument of that name, `#{order.product.id}` an own property of it, `#{0}` the first
   * argument. Values are strings, safe integers or bigints, with a ':' between any two of them.
   * Several templates: all of these locks or none, in any order. Or a function of the method's arguments (write their types) that returns
   * the name, or the names; under LockInterceptor, of the ExecutionContext. Build such a name with `lockName`, which encodes values. The
   * function is called on the object of the method: `key(this: Orders, id: string) { … }`.
   */
  key: LockKey | ((this: This, ...args: KeyArgs) => LockKey);
  /**
   * What happens to a call when another caller holds its lock for the whole of `wait` (LOCK_CONTENDED, LOCK_WAIT_TIMEOUT): `throw` rejects
   * it; with the others `wait` is 0 where it is left out. `skip` returns undefined, or an Observable or iterable without values; a function is called with the error and the arguments of the
   * method, on its object, and its result is returned. The method does not run. A full queue, an outage of Redis and a lost lock are still
   * errors.
   * @default 'throw'
   */
  onContended?: Contended | undefined;
  /**
   * Stops waiting: the call rejects with the signal's reason. Does not end a lock that is already held. A function of the method's
   * arguments returns the signal of each call: `(query, signal) => signal`; or give one signal for all calls.
   * @default none
   */
  signal?: AbortSignal | ((this: This, ...args: SignalArgs) => AbortSignal | undefined) | undefined;
  /**
   * Name of the connection, as given to `RedisLockModule.forRoot({ name })`.
   * @default the one without a name
   */
  connection?: string | undefined;
  /**
   * The parameters' names, in order, for templates, where the source has lost them (minified code).
   * @default read from the source of the class
   */
  params?: readonly string[] | undefined;
  /**
   * The kind of the method's result, where neither the source (`async`) nor the emitted types show it.
   * @default read from the source and the types
   */
  returns?: ResultKind | undefined;
}

interface CheckedLockOptions {
  readonly key: unknown;
  readonly params: unknown;
  readonly returns: unknown;
  readonly connection: string;
  readonly onContended: ContendedCall;
  /** Makes the signal of a call, when each call has its own. */
  readonly signalOf: SignalOfArguments | undefined;
  readonly lock: LockOptions;
}

const names = ['key', 'onContended', 'connection', 'params', 'returns', ...lockOptionNames] as const;

/** The decorator's argument, each property read once. @throws LockConfigurationError naming the wrong option. */
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
  if (typeof connection !== 'string' || connection === '') throw placeRefusals.noConnection('connection', connection);
  if (typeof onContended !== 'function' && onContended !== 'throw' && onContended !== 'skip')
    throw refusals.noContended(onContended);
  // A call that has something else to do does not queue for it.
  if (onContended !== 'throw') lock.wait ??= 0;
  const { signal } = lock;
  if (typeof signal === 'function') delete lock.signal;
  // Only for its errors: defaults come from the module, once there is one.
  resolveOptions(lock as LockOptions, lockDefaults);
  return {
    ...{ key, params, returns, connection },
    onContended: onContended as ContendedCall,
    signalOf: typeof signal === 'function' ? (signal as SignalOfArguments) : undefined,
    lock: lock as LockOptions,
  };
}
