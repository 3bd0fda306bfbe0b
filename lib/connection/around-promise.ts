import type { LockScope } from '../core/lock.js';
import { fromCaller } from '../errors/caller-stack.js';
import { LockLostError } from '../errors/lock-errors.js';

/** A result whose work goes on after it was returned: what to return, and when the work ends. */
export interface Unfinished<T> {
  readonly result: T;
  readonly end: Promise<void>;
}

/**
 * Enter, run, leave: the work runs inside the lock, and the lock is left when the promise has settled.
 * The caller sees an error of the work. Only work that succeeded can reject with a LockLostError.
 * @param restOf returns what is left of the work behind a result, and when it ends. The lock is left then; a LockLostError goes to the log
 * only, since the caller has its result already.
 */
export async function aroundPromise<T>(
  enter: () => Promise<LockScope>,
  work: (scope: LockScope) => T | PromiseLike<T>,
  restOf?: (result: T, scope: LockScope) => Unfinished<T> | undefined,
): Promise<T> {
  let scope: LockScope;
  try {
    scope = await enter();
  } catch (error) {
    throw fromCaller(error, aroundPromise);
  }
  let result: T;
  let rest: Unfinished<T> | undefined;
  try {
    result = await scope.run(() => work(scope));
    rest = restOf?.(result, scope);
  } catch (error) {
    await scope.leave('failed');
    throw error instanceof LockLostError ? fromCaller(error, aroundPromise) : error;
  }
  if (!rest) {
    try {
      await scope.leave('worked');
    } catch (error) {
      throw fromCaller(error, aroundPromise);
    }
    return result;
  }
  void rest.end.then(() => scope.leave('failed'));
  return rest.result;
}
