import type { LockScope } from '../core/lock-scope.js';

/**
 * Enter, run, leave: the work runs inside the lock, and the lock is left when the promise has settled.
 * An error of the work is what the caller sees; only work that ended well can end in a LockLostError.
 */
export async function aroundPromise<T>(
  enter: () => Promise<LockScope>,
  work: (scope: LockScope) => T | PromiseLike<T>,
): Promise<T> {
  const scope = await enter();
  let result: T;
  try {
    result = await scope.run(() => work(scope));
  } catch (error) {
    await scope.leave('failed');
    throw error;
  }
  await scope.leave('worked');
  return result;
}
