import { methodSuffix } from '../core/claim-id.js';
import type { LockPlace } from '../core/lock-place.js';
import type { LockScope } from '../core/lock-scope.js';
import { type LockOptions, type ResolvedLockOptions, lockDefaults, resolveOptions } from '../core/options.js';
import { isContention } from '../errors/contention.js';
import { LockConfigurationError, type LockNotAcquiredError } from '../errors/lock-errors.js';
import type { KeyOfArguments } from '../key/key.resolver.js';
import type { LockConnection } from '../redis-lock.connection.js';
import { aroundIterable } from './around-iterable.js';
import { aroundObservable } from './around-observable.js';
import { aroundPromise } from './around-promise.js';
import { connectionOf } from './connection-finder.js';
import { type ContendedCall, ContendedScope, inPlaceOf } from './contended-call.js';
import { located } from './error-location.js';
import type { HandlerPassage } from './handler-passage.js';
import { type HttpAnswer, answerOf } from './http-answer.js';
import { callRefusals } from './interceptor.messages.js';
import type { ResultKind } from './result-kind.js';
import { endOf, unfinished } from './unfinished-result.js';

export interface LockedMethodSettings {
  /** `ProductService.buy`, for messages. */
  readonly where: string;
  readonly property: string | symbol;
  readonly key: KeyOfArguments;
  /** Whether the key is a function, or constant: then it can be made of something else than the method's arguments. */
  readonly keyWithoutArguments: boolean;
  /** The decorator's options that the key was made from, as they were written. */
  readonly written: { readonly key: unknown; readonly params: unknown };
  readonly kind: ResultKind;
  /** Whether what it answers may be iterated more than once: everything but a generator. */
  readonly repeatable: boolean;
  readonly onContended: ContendedCall;
  readonly signalOf: SignalOfArguments | undefined;
  readonly options: LockOptions;
  /** Where its instances keep their connection. */
  readonly slot: symbol;
  /** Name of that connection, for messages. */
  readonly connection: string;
}

/** What the function `signal` of the options answers for a call. */
export type SignalOfArguments = (...given: unknown[]) => unknown;

/** What the decorator knows of one method of one class, and the around-advice for it. */
export class LockedMethod {
  private resolved: { readonly connection: LockConnection; readonly options: ResolvedLockOptions } | undefined;

  private readonly place: LockPlace;
  private readonly keyOfArguments: KeyOfArguments;

  constructor(readonly settings: LockedMethodSettings) {
    const { where, written, key, keyWithoutArguments } = settings;
    this.place = {
      where,
      template: typeof written.key === 'string' ? written.key : undefined,
      ...(Array.isArray(written.key) && { templates: written.key as string[] }),
    };
    this.keyOfArguments = keyWithoutArguments ? hintingAtInterceptor(key) : key;
  }

  /** `ProductService.buy`, for messages. */
  get where(): string {
    return this.settings.where;
  }

  get property(): string | symbol {
    return this.settings.property;
  }

  get kind(): ResultKind {
    return this.settings.kind;
  }

  /** Name of the connection that it takes its lock on. */
  get connection(): string {
    return this.settings.connection;
  }

  /** Whether LockInterceptor can take the lock: it has the request, and no arguments. */
  get fitsInterceptor(): boolean {
    return this.settings.keyWithoutArguments;
  }

  /** Milliseconds of its own `wait`; undefined where the module's counts. */
  get ownWait(): number | undefined {
    const { options } = this.settings;
    return options.wait === undefined ? undefined : resolveOptions(options, lockDefaults).wait;
  }

  /** Answers at once with what the method answers; the lock is taken, the work run and the lock left inside that. */
  around(instance: object, args: readonly unknown[], work: (scope: LockScope) => unknown): unknown {
    const answer = answerOf(instance, this.settings.property);
    const enter = (signal?: AbortSignal) => this.enter(instance, args, signal);
    if (this.settings.onContended === 'throw') return this.guard(enter, work, answer);
    return this.guard(
      (signal) => enter(signal).catch(contendedScope),
      (scope) => (scope instanceof ContendedScope ? this.instead(scope.error, instance, args) : work(scope)),
      answer,
    );
  }

  /** Whether the error is none that the caller shall see: `instead` answers in the method's place. */
  allows(error: unknown): error is LockNotAcquiredError {
    return this.settings.onContended !== 'throw' && isContention(error);
  }

  /** What is answered, in the kind of the method, when somebody else has its lock. */
  instead(error: LockNotAcquiredError, instance: object | undefined, given: readonly unknown[]): unknown {
    const { onContended, kind } = this.settings;
    return inPlaceOf(kind, () =>
      typeof onContended === 'function' ? onContended.call(instance, error, ...given) : undefined,
    );
  }

  /** Runs the work under the lock that LockInterceptor holds for it. */
  pass(passage: HandlerPassage, work: () => unknown): unknown {
    try {
      return passage.run(work);
    } catch (error) {
      const refuse = async (): Promise<never> => {
        throw error;
      };
      return this.guard(refuse, work);
    }
  }

  /** Takes the lock of a request, for work that LockInterceptor runs and leaves. */
  async enterWith(connection: LockConnection, context: unknown, signal: AbortSignal): Promise<LockScope> {
    return this.enterOn(connection, this.settings.key, [context], signal);
  }

  /** @param answer where the result goes, if the call is a request's. */
  private guard(
    enter: (signal?: AbortSignal) => Promise<LockScope>,
    work: (scope: LockScope) => unknown,
    answer?: HttpAnswer,
  ): unknown {
    const { kind, where } = this.settings;
    switch (kind) {
      case 'promise':
        return aroundPromise(
          () => enter(),
          work,
          (result, scope) => unfinished(result, scope, where, answer),
        );
      case 'observable':
        return aroundObservable(enter, work as Parameters<typeof aroundObservable>[1], (last) => endOf(last, answer));
      case 'iterable':
        return this.iterable(() => aroundIterable(() => enter(), work as Parameters<typeof aroundIterable>[1]));
    }
  }

  /** An iterable that is no generator may be iterated again: each time is a stay of its own, as each subscription is. */
  private iterable(iterate: () => AsyncGenerator): AsyncGenerator {
    const first = iterate();
    if (!this.settings.repeatable) return first;
    let iterations = 0;
    return Object.defineProperty(first, Symbol.asyncIterator, {
      value: () => (iterations++ === 0 ? first : iterate()),
    });
  }

  private async enter(instance: object, args: readonly unknown[], signal: AbortSignal | undefined): Promise<LockScope> {
    const { where, slot, connection: connectionName } = this.settings;
    const connection = isObject(instance) ? connectionOf(instance, connectionName, slot) : undefined;
    if (!connection) throw callRefusals.withoutConnection(where, connectionName);
    return this.enterOn(connection, this.keyOfArguments, args, signal);
  }

  /** @param given what the functions of the options get */
  private enterOn(
    connection: LockConnection,
    key: KeyOfArguments,
    given: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<LockScope> {
    const { where, signalOf } = this.settings;
    const options = this.optionsFor(connection);
    const name = located(where, () => key(given));
    const own = signalOf && located(where, () => signalOfCall(signalOf, given));
    return connection.enter(name, own || signal ? withSignals(options, own, signal) : options, this.place);
  }

  /** The module's defaults are known when a connection is; two applications in one process may have different ones. */
  private optionsFor(connection: LockConnection): ResolvedLockOptions {
    if (this.resolved?.connection !== connection) {
      const { options, where } = this.settings;
      const resolved = resolveOptions(options, connection.client.defaults);
      this.resolved = { connection, options: { ...resolved, where, method: methodSuffix(where) } };
    }
    return this.resolved.options;
  }
}

/** `this` is whatever the method was called on, undefined for one that was taken off its object. */
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function withSignals(options: ResolvedLockOptions, ...signals: Array<AbortSignal | undefined>): ResolvedLockOptions {
  const all = [options.signal, ...signals].filter((signal) => signal !== undefined);
  return { ...options, signal: all.length > 1 ? AbortSignal.any(all) : all[0] };
}

function signalOfCall(signalOf: SignalOfArguments, given: readonly unknown[]): AbortSignal | undefined {
  let signal: unknown;
  try {
    signal = signalOf(...given);
  } catch (cause) {
    throw cause instanceof LockConfigurationError ? cause : callRefusals.signalThrows(cause);
  }
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw callRefusals.noSignal(signal);
}

/** A function that reads what its argument does not have may have been written for LockInterceptor. */
function hintingAtInterceptor(key: KeyOfArguments): KeyOfArguments {
  return (args) => {
    try {
      return key(args);
    } catch (error) {
      const { cause } = error as Error;
      throw cause instanceof TypeError ? callRefusals.puzzledKey(cause) : error;
    }
  };
}

/** Nobody but a contended call is answered otherwise. */
function contendedScope(error: unknown): ContendedScope {
  if (isContention(error)) return new ContendedScope(error);
  throw error;
}
