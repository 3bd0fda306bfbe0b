import 'reflect-metadata';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { isObservable } from 'rxjs';
import { Hidden } from '../../errors/describe.js';
import { LockError } from '../../errors/lock-errors.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { bodyOf, LockErrorFilter, pause, statusOf } from './lock-error.filter.js';

/** Applications that handle lock errors themselves. */
const silenced = new WeakSet<ModulesContainer>();

/** True when a connection of the application has `httpErrors: false`. */
export const isSilenced = (application: ModulesContainer): boolean => silenced.has(application);

/**
 * The `LockErrorFilter` that a module registers for its whole application. It passes each error on to the global filter of the application
 * that takes it, and answers itself where none does. Once any of the application's connections has `httpErrors: false`, it matches no
 * error.
 */
export function applicationLockErrorFilter(
  application: ModulesContainer,
  httpErrors: boolean | undefined,
  host: HttpAdapterHost,
  config: ApplicationConfig,
): ExceptionFilter {
  if (httpErrors === false) silenced.add(application);
  comeFirst(config);
  const hidden = new Hidden({ config, host });
  // Nest evaluates `error instanceof …` at each error: the factories of other connections may return later than this one.
  @Catch({
    [Symbol.hasInstance]: (error: unknown) => error instanceof LockError && !silenced.has(application),
  } as never)
  class ApplicationLockErrorFilter extends LockErrorFilter {
    override catch(error: LockError, context: ArgumentsHost): unknown {
      const parts = hidden.reveal();
      for (const filter of filtersOf(parts.config, context)) {
        const given = formFor(filter, error, context);
        if (given === undefined) continue;
        if (given instanceof HttpException) announceRetry(parts.host, context);
        // oxlint-disable-next-line promise/valid-params -- the method of a filter
        const handle = () => filter.catch(given, context) as unknown;
        return context.getType() === 'http' ? handle() : this.unlessForHttp(handle, error, context);
      }
      // oxlint-disable-next-line promise/valid-params -- the method of a filter
      return super.catch(error, context);
    }

    /** A filter that was written for HTTP alone finds no response in a message or a query, and would leave its client without an answer. */
    private unlessForHttp(handle: () => unknown, error: LockError, context: ArgumentsHost): unknown {
      let result: unknown;
      try {
        result = handle();
        if (context.getType<string>() !== 'rpc' || isObservable(result) || result instanceof Promise) return result;
      } catch (failure) {
        if (!(failure instanceof TypeError)) throw failure;
      }
      // oxlint-disable-next-line promise/valid-params -- the method of a filter
      return super.catch(error, context);
    }
  }
  return new ApplicationLockErrorFilter(host);
}

const isOurs = (filter: unknown): boolean => filter instanceof LockErrorFilter;

const ordered = new WeakSet<ApplicationConfig>();

/**
 * Nest asks the last global filter first. Ours has to be the one: a filter for all errors, or for HttpExceptions, would send 500 for the error
 * as it is, and ours gives it a form that it knows.
 */
function comeFirst(config: ApplicationConfig): void {
  if (ordered.has(config)) return;
  ordered.add(config);
  const { getGlobalFilters } = config;
  config.getGlobalFilters = () => {
    const filters = getGlobalFilters.call(config);
    const others = filters.filter((filter) => !isOurs(filter));
    return others.length === filters.length ? filters : [...others, ...filters.filter(isOurs)];
  };
}

/** The application's own global filters, in Nest's order. A gateway has none: Nest runs no global filters there. */
function filtersOf(config: ApplicationConfig, context: ArgumentsHost): ExceptionFilter[] {
  if (context.getType<string>() === 'ws') return [];
  return config
    .getGlobalFilters()
    .filter((filter) => !isOurs(filter))
    .toReversed();
}

type Caught = abstract new (...args: never[]) => unknown;

/**
 * The error as this filter knows it; undefined when it does not take it. A filter for lock errors gets the error itself. One for all errors,
 * or for HttpExceptions, gets an HttpException, which is a lock error as well: so it sends the status that the error has, in its own format. An
 * error that is the application's fault stays an unknown error, which such filters log.
 */
function formFor(
  filter: ExceptionFilter,
  error: LockError,
  context: ArgumentsHost,
): LockError | HttpException | undefined {
  const caught = (Reflect.getMetadata(metadataKeys.caughtErrors, filter.constructor) ?? []) as Caught[];
  const takesError = caught.length === 0 || caught.some((type) => error instanceof type);
  const isMeant = caught.some((type) => type === LockError || type.prototype instanceof LockError);
  const type = context.getType<string>();
  if ((takesError && isMeant) || statusOf(error) === 500 || (type !== 'http' && type !== 'graphql'))
    return takesError ? error : undefined;
  const exception = new LockHttpException(error);
  return takesError || caught.some((each) => exception instanceof each) ? exception : undefined;
}

/**
 * A lock error in the form of Nest: its message and body are for clients. `instanceof` finds the classes of the lock error in it too, and it has
 * the same `code`, `key` and other fields. The lock error itself is its `cause`.
 */
class LockHttpException extends HttpException {
  constructor(cause: LockError) {
    super(bodyOf(statusOf(cause), cause.code), statusOf(cause), { cause });
    this.name = 'LockHttpException';
    const { stack, extensions, statusCode, expose } = cause;
    const { name: _, message: __, ...fields } = cause as LockError & Record<string, unknown>;
    Object.assign(this, fields, { cause });
    for (const [property, value] of Object.entries({ stack, extensions, statusCode, expose }))
      Object.defineProperty(this, property, { value, configurable: true, writable: true });
    // By which `instanceof` recognizes the classes of this library.
    for (
      let type = Object.getPrototypeOf(cause) as object | null;
      type;
      type = Object.getPrototypeOf(type) as object | null
    )
      for (const mark of Object.getOwnPropertySymbols(type)) Object.defineProperty(this, mark, { value: true });
  }
}

function announceRetry({ httpAdapter }: HttpAdapterHost, context: ArgumentsHost): void {
  if (context.getType<string>() !== 'http') return;
  const response: unknown = context.switchToHttp().getResponse();
  if (!httpAdapter.isHeadersSent(response)) httpAdapter.setHeader(response, 'Retry-After', String(pause));
}
