import { EMPTY, type ObservableInput, defer, from, mergeMap } from 'rxjs';
import type { Lock, LockScope } from '../../core/lock.js';
import type { LockNotAcquiredError } from '../../errors/lock-errors.js';
import type { ResultKind } from './result-kind.js';

/** What a call returns when its lock is contended: it rejects, returns undefined or nothing, or returns what a function makes. */
export type ContendedCall =
  'throw' | 'skip' | ((this: unknown, error: LockNotAcquiredError, ...given: unknown[]) => unknown);

/** Takes the place of the lock's scope when the lock is contended: nothing is held, and the method does not run. */
export class ContendedScope implements LockScope {
  /** Only the method itself reads it, and the method does not run. */
  readonly lock = undefined as unknown as Lock;

  constructor(readonly error: LockNotAcquiredError) {}

  run<T>(fn: () => T): T {
    return fn();
  }

  async leave(): Promise<void> {}
}

/** Wraps the result of the fallback in the kind of the method; undefined becomes an Observable or iterable without values. */
export function inPlaceOf(kind: ResultKind, fallback: () => unknown): unknown {
  switch (kind) {
    case 'promise':
      return fallback();
    case 'observable':
      return defer(async () => fallback()).pipe(
        mergeMap((values) => (values === undefined ? EMPTY : from(values as ObservableInput<unknown>))),
      );
    case 'iterable':
      return iterate(fallback);
  }
}

async function* iterate(fallback: () => unknown): AsyncGenerator {
  const values = await fallback();
  return values === undefined ? undefined : yield* values as AsyncIterable<unknown>;
}
