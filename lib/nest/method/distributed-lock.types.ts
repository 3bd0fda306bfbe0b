import type { ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { LockNotAcquiredError } from '../../errors/lock-errors.js';

/** A method that can wait for a lock, by the kinds of its result. */
export type LockableMethod = (
  // Parameters are contravariant: only `any` accepts all methods.
  // oxlint-disable-next-line typescript/no-explicit-any
  ...args: any[]
) => PromiseLike<unknown> | Observable<unknown> | AsyncIterable<unknown>;

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
  "with onContended: 'skip' the method may return undefined, so its type must say so": Result | undefined;
}
export interface ThisMismatch<Expected> {
  'a function of the options is called on the object that has the method': Expected;
}

/** A function that LockInterceptor calls gets the context, for all parameters of the method. */
type ForInterceptor<Args extends readonly unknown[], F> = Args extends readonly [ExecutionContext] ? F : never;

type Fits<Method extends LockableMethod, Args extends readonly unknown[], Mismatch> = ((...args: Args) => void) extends
  ((...args: Parameters<Method>) => void) | ForInterceptor<Args, (context: ExecutionContext) => void>
  ? unknown
  : Mismatch;

/** The result of the method, or a promise of it. */
type Result<Method extends LockableMethod> = Awaited<ReturnType<Method>> | PromiseLike<Awaited<ReturnType<Method>>>;
type Fallback<Method extends LockableMethod, KeyArgs extends readonly unknown[]> =
  | ((error: LockNotAcquiredError, ...args: Parameters<Method>) => Result<Method>)
  | ForInterceptor<KeyArgs, (error: LockNotAcquiredError, context: ExecutionContext) => Result<Method>>;

type FunctionOf<Contended> = Extract<Contended, (...args: never) => unknown>;

type FallbackFits<Method extends LockableMethod, KeyArgs extends readonly unknown[], Contended> = [
  FunctionOf<Contended>,
] extends [Fallback<Method, KeyArgs>]
  ? unknown
  : FallbackMismatch<Fallback<Method, KeyArgs>>;

/** An Observable or an iterable without values fits any type. */
type SkipFits<Method extends LockableMethod, Contended> = 'skip' extends Contended
  ? ReturnType<Method> extends PromiseLike<infer Value>
    ? undefined extends Value
      ? unknown
      : SkipMismatch<Value>
    : unknown
  : unknown;

/** Without `onContended`, Contended is the whole union. */
type ContendedFits<Method extends LockableMethod, KeyArgs extends readonly unknown[], Contended> = [
  OnContended,
] extends [Contended]
  ? unknown
  : FallbackFits<Method, KeyArgs, Contended> & SkipFits<Method, Contended>;

/** This is unknown without a `this` parameter. */
type ThisFits<Target, This> = Target extends This ? unknown : ThisMismatch<This>;

type ThisOf<Contended> = [OnContended] extends [Contended]
  ? unknown
  : [FunctionOf<Contended>] extends [never]
    ? unknown
    : ThisParameterType<FunctionOf<Contended>>;

/**
 * A decorator of instance methods: the static side of a class has a `prototype`. The parameters are what the options' functions declare: the
 * arguments of the key, `onContended`, the arguments of the signal, and the `this` of `key` and `signal`.
 */
export interface DistributedLockDecorator<
  KeyArgs extends readonly unknown[] = readonly unknown[],
  Contended extends OnContended = OnContended,
  SignalArgs extends readonly unknown[] = readonly unknown[],
  This = unknown,
> {
  /**
   * Makes it a `MethodDecorator`, which `applyDecorators` takes. The compiler never chooses this signature for a method, which has a target:
   * so the checks of the other one remain, and its errors mention no overload.
   */
  (): void;
  <Method extends LockableMethod, Target extends object>(
    target: Target & { prototype?: never } & ThisFits<Target, ThisOf<Contended>> & ThisFits<Target, This>,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<Method> &
      Fits<Method, KeyArgs, KeyFunctionMismatch<Parameters<Method>>> &
      Fits<Method, SignalArgs, SignalFunctionMismatch<Parameters<Method>>> &
      ContendedFits<Method, KeyArgs, Contended>,
  ): void;
}
