import type { LockScope } from '../core/lock-scope.js';
import type { Unfinished } from './unfinished-result.js';

/**
 * Enter, run, leave: the work runs inside the lock, and the lock is left when the promise has settled.
 * An error of the work is what the caller sees; only work that ended well can end in a LockLostError.
 * @param restOf says of a result that its work goes on, and until when: then the lock is left there, and nobody is left to see a
 * LockLostError but the log.
 */
export async function aroundPromise<T>(
  enter: () => Promise<LockScope>,
  work: (scope: LockScope) => T | PromiseLike<T>,
  restOf?: (result: T, scope: LockScope) => Unfinished<T> | undefined,
): Promise<T> {
  const scope = await enter();
  let result: T;
  let rest: Unfinished<T> | undefined;
  try {
    result = await scope.run(() => work(scope));
    rest = scope.run(() => restOf?.(result, scope));
  } catch (error) {
    await scope.leave('failed');
    throw error;
  }
  if (!rest) {
    await scope.leave('worked');
    return result;
  }
  void rest.end.then(() => scope.leave('failed'));
  return rest.result;
}
