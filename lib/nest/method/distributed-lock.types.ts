import type { ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { LockNotAcquiredError } from '../../errors/lock-errors.js';

/** The kinds of results of a method that can wait for a lock. */
type Lockable = PromiseLike<unknown> | Observable<unknown> | AsyncIterable<unknown>;
// Parameters are contravariant: only `any` accepts all methods.
// oxlint-disable-next-line typescript/no-explicit-any
export type LockableMethod = (...args: any[]) => Lockable;

/** `'throw'`, `'skip'`, or a function that is called in place of the method. */
export type OnContended =
  | 'throw'
  | 'skip'
  // As above: the method's types are compared where the decorator meets the method.
  // oxlint-disable-next-line typescript/no-explicit-any
  | ((this: any, error: LockNotAcquiredError, ...args: any[]) => unknown);

/** The compiler names this when a function of the options has other parameters than the method. */
export interface KeyFunctionMismatch<Expected extends readonly unknown[]> {
  'the key function does not fit the parameters of the method': Expected;
}
export interface SignalFunctionMismatch<Expected extends readonly unknown[]> {
  'the signal function does not fit the parameters of the method': Expected;
}
export interface FallbackMismatch<Expected> {
  'onContended does not fit the method': Expected;
}
export interface SkipMismatch<Result> {
  "with onContended: 'skip' the method may answer undefined, so its type must say so": Result | undefined;
}
export interface ThisMismatch<Expected> {
  'a function of the options is called on the object that has the method': Expected;
}

/** A function that LockInterceptor calls gets the context, for all parameters of the method. */
type ForInterceptor<A extends readonly unknown[], F> = A extends readonly [ExecutionContext] ? F : never;

type Fits<T extends LockableMethod, A extends readonly unknown[], Mismatch> = ((...args: A) => void) extends
  ((...args: Parameters<T>) => void) | ForInterceptor<A, (context: ExecutionContext) => void>
  ? unknown
  : Mismatch;

/** The result of the method, or a promise of it. */
type Answer<T extends LockableMethod> = Awaited<ReturnType<T>> | PromiseLike<Awaited<ReturnType<T>>>;
type Fallback<T extends LockableMethod, A extends readonly unknown[]> =
  | ((error: LockNotAcquiredError, ...args: Parameters<T>) => Answer<T>)
  | ForInterceptor<A, (error: LockNotAcquiredError, context: ExecutionContext) => Answer<T>>;

type FunctionOf<F> = Extract<F, (...args: never) => unknown>;

type FallbackFits<T extends LockableMethod, A extends readonly unknown[], F> = [FunctionOf<F>] extends [Fallback<T, A>]
  ? unknown
  : FallbackMismatch<Fallback<T, A>>;

/** An Observable or an iterable without values fits any type. */
type SkipFits<T extends LockableMethod, F> = 'skip' extends F
  ? ReturnType<T> extends PromiseLike<infer Result>
    ? undefined extends Result
      ? unknown
      : SkipMismatch<Result>
    : unknown
  : unknown;

/** Without `onContended`, F is the whole union. */
type ContendedFits<T extends LockableMethod, A extends readonly unknown[], F> = [OnContended] extends [F]
  ? unknown
  : FallbackFits<T, A, F> & SkipFits<T, F>;

/** This is unknown without a `this` parameter. */
type ThisFits<Target, This> = Target extends This ? unknown : ThisMismatch<This>;

type ThisOf<F> = [OnContended] extends [F]
  ? unknown
  : [FunctionOf<F>] extends [never]
    ? unknown
    : ThisParameterType<FunctionOf<F>>;

/**
 * Nest's `applyDecorators` takes decorators of anything. The compiler never chooses this signature for a method, which has a target: so the checks of
 * the other one remain, and its errors mention no overload.
 */
export interface ForComposition {
  (): void;
}

/**
 * A decorator of instance methods: the static side of a class has a `prototype`. A, F, S and H are what the options' functions declare: the
 * arguments of the key, `onContended`, the arguments of the signal, and the `this` of `key` and `signal`.
 */
export type DistributedLockDecorator<
  A extends readonly unknown[],
  F extends OnContended = 'throw',
  S extends readonly unknown[] = readonly unknown[],
  H = unknown,
> = ForComposition &
  (<T extends LockableMethod, Target extends object>(
    target: Target & { prototype?: never } & ThisFits<Target, ThisOf<F>> & ThisFits<Target, H>,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<T> &
      Fits<T, A, KeyFunctionMismatch<Parameters<T>>> &
      Fits<T, S, SignalFunctionMismatch<Parameters<T>>> &
      ContendedFits<T, A, F>,
  ) => void);
