import type { LockScope } from '../core/lock-scope.js';

/**
 * Enter, run, leave: the work runs inside the lock, and the lock is left when the promise has settled.
 * An error of the work is what the caller sees; only work that ended well can end in a LockLostError.
 * @param endOf a result that is still being produced answers its end: then the lock is left there, and nobody is left to
 * see a LockLostError but the log.
 */
export async function aroundPromise<T>(
  enter: () => Promise<LockScope>,
  work: (scope: LockScope) => T | PromiseLike<T>,
  endOf?: (result: T) => Promise<void> | undefined,
): Promise<T> {
  const scope = await enter();
  let result: T;
  try {
    result = await scope.run(() => work(scope));
  } catch (error) {
    await scope.leave('failed');
    throw error;
  }
  const end = endOf?.(result);
  if (end) void end.then(() => scope.leave('failed'));
  else await scope.leave('worked');
  return result;
}
