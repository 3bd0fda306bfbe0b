import type { ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { type LockOptions, lockDefaults, readOptions, resolveOptions } from '../core/options.js';
import type { ResultKind } from '../interceptor/result-kind.js';
import { defaultConnection } from '../redis-lock.tokens.js';
import { decoratorRefusals as refusals } from './decorator.messages.js';

/** What `@DistributedLock` takes: every option of an acquisition, and the key. */
export interface DistributedLockOptions<A extends readonly unknown[] = readonly unknown[]> extends LockOptions {
  /**
   * What is locked. A template: `#{id}` stands for the argument of that name, `#{order.product.id}` for an own property of
   * it, `#{0}` for the first argument; values are strings, safe integers or bigints, and any two stand apart by a ':'.
   * Or a function of the method's arguments that answers the name; under LockInterceptor, of the ExecutionContext.
   */
  key: string | ((...args: A) => string);
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

/** What a method that waits for a lock can answer. */
type Lockable = PromiseLike<unknown> | Observable<unknown> | AsyncIterable<unknown>;
// Parameters stand in contravariant position: only `any` takes every method.
// oxlint-disable-next-line typescript/no-explicit-any
export type LockableMethod = (...args: any[]) => Lockable;

/** What the compiler names when a key function asks for other arguments than the method gets. */
export interface KeyFunctionMismatch<Expected extends readonly unknown[]> {
  'the key function does not fit the parameters of the method': Expected;
}

type Fits<T extends LockableMethod, A extends readonly unknown[]> = ((...args: A) => void) extends
  ((...args: Parameters<T>) => void) | ForInterceptor<A>
  ? unknown
  : KeyFunctionMismatch<Parameters<T>>;

/** A function that LockInterceptor calls has nothing to do with the parameters of the method. */
type ForInterceptor<A extends readonly unknown[]> = A extends readonly [ExecutionContext]
  ? (context: ExecutionContext) => void
  : never;

/** A decorator of instance methods: the static side of a class has a `prototype`. */
export type DistributedLockDecorator<A extends readonly unknown[]> = <T extends LockableMethod>(
  target: object & { prototype?: never },
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<T> & Fits<T, A>,
) => void;

export interface CheckedLockOptions {
  readonly key: unknown;
  readonly params: unknown;
  readonly returns: unknown;
  readonly connection: string;
  readonly lock: LockOptions;
}

const names = [
  'key',
  'connection',
  'params',
  'returns',
  ...(Object.keys(lockDefaults) as (keyof LockOptions)[]),
] as const;

/** The decorator's argument, every property read once. @throws LockConfigurationError naming the wrong option. */
export function readLockOptions(argument: unknown): CheckedLockOptions {
  if (typeof argument === 'string')
    return { key: argument, params: undefined, returns: undefined, connection: defaultConnection, lock: {} };
  const { key, params, returns, connection = defaultConnection, ...lock } = readOptions('options', argument, names);
  if (typeof connection !== 'string' || connection === '') throw refusals.noConnection(connection);
  // Only for its errors: the values that are left out come from the module, once there is one.
  resolveOptions(lock as LockOptions, lockDefaults);
  return { key, params, returns, connection, lock: lock as LockOptions };
}
