import { EMPTY, type ObservableInput, defer, from, mergeMap } from 'rxjs';
import type { Lock } from '../core/lock.js';
import type { LockScope } from '../core/lock-scope.js';
import type { LockNotAcquiredError } from '../errors/lock-errors.js';
import type { ResultKind } from './result-kind.js';

/** What a call does whose lock somebody else has: rejects, answers undefined or nothing, or answers something else. */
export type ContendedCall =
  'throw' | 'skip' | ((this: unknown, error: LockNotAcquiredError, ...given: unknown[]) => unknown);

/** Stands where the lock's scope would: nothing is held and nothing is left. The method is not run in it. */
export class ContendedScope implements LockScope {
  /** There is none; only the method's own work would ask for it. */
  readonly lock = undefined as unknown as Lock;

  constructor(readonly error: LockNotAcquiredError) {}

  run<T>(fn: () => T): T {
    return fn();
  }

  async leave(): Promise<void> {}
}

/** Makes what the fallback answers, or promises, into what the method would have answered; of undefined, what holds nothing. */
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
