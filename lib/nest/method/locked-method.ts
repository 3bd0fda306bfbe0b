import { callerSuffix } from '../../core/claim-id.js';
import { withFirstOf } from '../../core/on-abort.js';
import type { LockKey } from '../../core/lock-key.js';
import type { LockScope } from '../../core/lock.js';
import { type LockOptions, type ResolvedLockOptions, lockDefaults, resolveOptions } from '../../core/options.js';
import { LockConfigurationError, LockNotAcquiredError } from '../../errors/lock-errors.js';
import type { KeyOfArguments } from '../../key/key.resolver.js';
import type { LockConnection } from '../../connection/lock.connection.js';
import { aroundIterable } from '../around/around-iterable.js';
import { aroundObservable } from '../around/around-observable.js';
import { aroundPromise } from '../../connection/around-promise.js';
import { connectionOfInstance } from './connection-slot.js';
import { type ContendedCall, ContendedScope, inPlaceOf } from '../around/contended-call.js';
import { atPlace } from '../../errors/configuration.js';
import { type CallContext, type HeldRequest, type HttpResponse, responseOf } from '../base/call-context.js';
import { callRefusals } from '../around/around.messages.js';
import type { ResultKind } from '../around/result-kind.js';
import { endOf, unfinished } from '../around/unfinished-result.js';

interface LockedMethodSettings {
  /** `ProductService.buy`, for messages. */
  readonly where: string;
  readonly property: string | symbol;
  readonly key: KeyOfArguments;
  /** True when the key is a function or constant: then it can be built without the method's arguments. */
  readonly keyWithoutArguments: boolean;
  /** The decorator's options that the key was made from, as they were written. */
  readonly written: { readonly key: unknown; readonly params: unknown };
  readonly kind: ResultKind;
  /** True when its result may be iterated more than once: for all but generators. */
  readonly repeatable: boolean;
  readonly onContended: ContendedCall;
  readonly signalOf: SignalOfArguments | undefined;
  readonly options: LockOptions;
  /** Where its instances keep their connection. */
  readonly slot: symbol;
  /** Name of that connection, for messages. */
  readonly connection: string;
}

/** The function `signal` of the options. */
export type SignalOfArguments = (this: unknown, ...given: unknown[]) => unknown;

/** What the decorator knows of one method of one class, and the locked call of it. */
export class LockedMethod {
  private resolved: { readonly connection: LockConnection; readonly options: ResolvedLockOptions } | undefined;

  /** The templates of the name or names, as they were written. */
  readonly templates: readonly string[];
  private readonly keyOfArguments: KeyOfArguments;

  constructor(readonly settings: LockedMethodSettings) {
    const { written, key, keyWithoutArguments } = settings;
    this.templates = [written.key].flat().filter((template) => typeof template === 'string');
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

  /** Name of the connection that provides its lock. */
  get connection(): string {
    return this.settings.connection;
  }

  /** True when LockInterceptor can take the lock: it has the request, and no arguments. */
  get fitsInterceptor(): boolean {
    return this.settings.keyWithoutArguments;
  }

  /** Milliseconds of its own `wait`; undefined when the module's applies. */
  get ownWait(): number | undefined {
    const { options } = this.settings;
    return options.wait === undefined ? undefined : resolveOptions(options, lockDefaults).wait;
  }

  /**
   * Returns at once the kind of result that the method returns; inside it the lock is taken, the work runs, and the lock is left.
   * @param context of the call
   */
  around(
    instance: object,
    args: readonly unknown[],
    work: (scope: LockScope) => unknown,
    context: CallContext | undefined,
  ): unknown {
    const response = context && responseOf(context, instance, this.settings.property);
    const enter = (signal?: AbortSignal) => this.enter(instance, args, signal);
    if (this.settings.onContended === 'throw') return this.guard(enter, work, response);
    return this.guard(
      (signal) => enter(signal).catch(contendedScope),
      (scope) => (scope instanceof ContendedScope ? this.instead(scope.error, instance, args) : work(scope)),
      response,
    );
  }

  /** True when `onContended` handles this error: `instead` makes the result. */
  allows(error: unknown): error is LockNotAcquiredError {
    return this.settings.onContended !== 'throw' && error instanceof LockNotAcquiredError;
  }

  /** The result of a contended call, in the kind of the method. */
  instead(error: LockNotAcquiredError, instance: object | undefined, given: readonly unknown[]): unknown {
    const { onContended, kind } = this.settings;
    return inPlaceOf(kind, () =>
      typeof onContended === 'function' ? onContended.call(instance, error, ...given) : undefined,
    );
  }

  /** Runs the work under the lock that LockInterceptor holds for it. */
  runInRequest(request: HeldRequest, work: () => unknown): unknown {
    try {
      return request.run(work);
    } catch (error) {
      const refuse = async (): Promise<never> => {
        throw error;
      };
      return this.guard(refuse, work);
    }
  }

  /** Takes the lock of a request. LockInterceptor runs the work and leaves the lock. */
  async enterWith(connection: LockConnection, context: unknown, signal: AbortSignal): Promise<LockScope> {
    return this.enterOn(connection, this.settings.key, undefined, [context], signal);
  }

  /** @param response the response of the request, if the call is a request's handler. */
  private guard(
    enter: (signal?: AbortSignal) => Promise<LockScope>,
    work: (scope: LockScope) => unknown,
    response?: HttpResponse,
  ): unknown {
    const { kind, where } = this.settings;
    switch (kind) {
      case 'promise':
        // A plain value is complete, unless the handler writes the response itself.
        return aroundPromise(enter, work, (result, scope) =>
          response || typeof result === 'object' ? unfinished(result, scope, where, response) : undefined,
        );
      case 'observable':
        return aroundObservable(enter, work as Parameters<typeof aroundObservable>[1], (last) => endOf(last, response));
      case 'iterable':
        return this.iterable(() => aroundIterable(enter, work as Parameters<typeof aroundIterable>[1]));
    }
  }

  /** An iterable that is not a generator may be iterated again. Each iteration takes the lock, as each subscription does. */
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
    // `this` may be anything; it is undefined for a method that was detached from its object.
    const isObject = typeof instance === 'object' && instance !== null;
    const connection = isObject ? connectionOfInstance(instance, connectionName, slot) : undefined;
    if (!connection) throw callRefusals.withoutConnection(where, connectionName);
    return this.enterOn(connection, this.keyOfArguments, instance, args, signal);
  }

  /** @param instance `this` of the options' functions; @param given their arguments */
  private enterOn(
    connection: LockConnection,
    key: KeyOfArguments,
    instance: object | undefined,
    given: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<LockScope> {
    const { where, signalOf } = this.settings;
    const options = this.optionsFor(connection);
    let name: LockKey;
    let own: AbortSignal | undefined;
    // Without a closure: each call comes through here.
    try {
      name = key(given, instance);
      own = signalOf && signalOfCall(signalOf, instance, given);
    } catch (error) {
      throw atPlace(where, error);
    }
    if (!own && !signal) return connection.enter(name, options);
    const enter = (one: AbortSignal): Promise<LockScope> => connection.enter(name, { ...options, signal: one });
    const signals = [options.signal, own, signal].filter((one) => one !== undefined);
    return signals.length > 1 ? withFirstOf(signals, enter) : enter(signals[0]!);
  }

  /** The module's defaults are known once the connection is. Two applications in one process may have different ones. */
  private optionsFor(connection: LockConnection): ResolvedLockOptions {
    if (this.resolved?.connection !== connection) {
      const { options, where } = this.settings;
      const resolved = resolveOptions(options, connection.defaults);
      const own = { method: where, callerSuffix: callerSuffix(where, resolved.label), templates: this.templates };
      const site = connection.watchesNesting && { site: { where } };
      this.resolved = { connection, options: { ...resolved, ...own, ...site } };
    }
    return this.resolved.options;
  }
}

function signalOfCall(
  signalOf: SignalOfArguments,
  instance: object | undefined,
  given: readonly unknown[],
): AbortSignal | undefined {
  let signal: unknown;
  try {
    signal = signalOf.apply(instance, given as unknown[]);
  } catch (cause) {
    throw cause instanceof LockConfigurationError ? cause : callRefusals.signalThrows(cause);
  }
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw callRefusals.noSignal(signal);
}

/** A TypeError in a key function suggests that it was written for LockInterceptor. */
function hintingAtInterceptor(key: KeyOfArguments): KeyOfArguments {
  return (args, instance) => {
    try {
      return key(args, instance);
    } catch (error) {
      const { cause } = error as Error;
      throw cause instanceof TypeError ? callRefusals.puzzledKey(cause) : error;
    }
  };
}

/** Only contended calls get another result. */
function contendedScope(error: unknown): ContendedScope {
  if (error instanceof LockNotAcquiredError) return new ContendedScope(error);
  throw error;
}
