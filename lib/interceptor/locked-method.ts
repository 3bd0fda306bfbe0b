import type { LockPlace } from '../core/lock-place.js';
import type { LockScope } from '../core/lock-scope.js';
import { type LockOptions, type ResolvedLockOptions, lockDefaults, resolveOptions } from '../core/options.js';
import type { KeyOfArguments } from '../key/key.resolver.js';
import type { LockConnection } from '../redis-lock.connection.js';
import { aroundIterable } from './around-iterable.js';
import { aroundObservable } from './around-observable.js';
import { aroundPromise } from './around-promise.js';
import { connectionOf } from './connection-finder.js';
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
  readonly options: LockOptions;
  /** Where its instances keep their connection. */
  readonly slot: symbol;
  /** Name of that connection, for messages. */
  readonly connection: string;
}

/** What the decorator knows of one method of one class, and the around-advice for it. */
export class LockedMethod {
  private resolved: { readonly connection: LockConnection; readonly options: ResolvedLockOptions } | undefined;

  private readonly place: LockPlace;

  constructor(readonly settings: LockedMethodSettings) {
    const { where, written } = settings;
    this.place = { where, template: typeof written.key === 'string' ? written.key : undefined };
  }

  /** `ProductService.buy`, for messages. */
  get where(): string {
    return this.settings.where;
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
    return this.guard((signal) => this.enter(instance, args, signal), work, answer);
  }

  /** Runs the work under the lock that LockInterceptor holds for it. */
  pass(passage: HandlerPassage, args: readonly unknown[], work: () => unknown): unknown {
    try {
      return passage.run(args, work);
    } catch (error) {
      const refuse = async (): Promise<never> => {
        throw error;
      };
      return this.guard(refuse, work);
    }
  }

  /** Takes the lock of a request, for work that LockInterceptor runs and leaves. */
  async enterWith(connection: LockConnection, context: unknown, signal: AbortSignal): Promise<LockScope> {
    const { where, key } = this.settings;
    return connection.enter(
      located(where, () => key([context])),
      withSignal(this.optionsFor(connection), signal),
      this.place,
    );
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
    const options = this.optionsFor(connection);
    const name = located(where, () => this.nameOf(args));
    return connection.enter(name, signal ? withSignal(options, signal) : options, this.place);
  }

  private nameOf(args: readonly unknown[]): string {
    const { key, keyWithoutArguments } = this.settings;
    try {
      return key(args);
    } catch (error) {
      const { cause } = error as Error;
      // A function that reads what its argument does not have may have been written for LockInterceptor.
      throw keyWithoutArguments && cause instanceof TypeError ? callRefusals.puzzledKey(cause) : error;
    }
  }

  /** The module's defaults are known when a connection is; two applications in one process may have different ones. */
  private optionsFor(connection: LockConnection): ResolvedLockOptions {
    if (this.resolved?.connection !== connection) {
      const { options, where } = this.settings;
      this.resolved = { connection, options: { ...resolveOptions(options, connection.client.defaults), where } };
    }
    return this.resolved.options;
  }
}

/** `this` is whatever the method was called on, undefined for one that was taken off its object. */
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function withSignal(options: ResolvedLockOptions, signal: AbortSignal): ResolvedLockOptions {
  return { ...options, signal: options.signal ? AbortSignal.any([options.signal, signal]) : signal };
}
