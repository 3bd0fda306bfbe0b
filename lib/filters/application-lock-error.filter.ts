import { Catch, type ExceptionFilter } from '@nestjs/common';
import type { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { LockError } from '../errors/lock-errors.js';
import { LockErrorFilter } from './lock-error.filter.js';

/** Applications that want the errors for themselves. */
const silenced = new WeakSet<ModulesContainer>();

/**
 * The `LockErrorFilter` that a module registers for its whole application. It matches no error once one of the application's
 * connections was given `httpErrors: false`, whichever it is: so the application's own filters do.
 */
export function applicationLockErrorFilter(
  application: ModulesContainer,
  httpErrors: boolean | undefined,
  host: HttpAdapterHost,
): ExceptionFilter {
  if (httpErrors === false) silenced.add(application);
  // Nest asks `error instanceof …` at each error: the factories of other connections may answer later than this one.
  @Catch({
    [Symbol.hasInstance]: (error: unknown) => error instanceof LockError && !silenced.has(application),
  } as never)
  class ApplicationLockErrorFilter extends LockErrorFilter {}
  return new ApplicationLockErrorFilter(host);
}
