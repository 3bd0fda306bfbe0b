import type { LockScope } from '../../core/lock.js';
import { fromCaller } from '../../errors/caller-stack.js';

/**
 * An async generator that holds the lock while it is iterated. It takes the lock at the first `next()` and leaves it once: at the end, on
 * an error, or when the consumer stops early (`break`, `return()`, `throw()`). Each step runs inside the lock's flow, not in the consumer's
 * async context. Steps that are requested while one is under way queue up, as in any async generator.
 */
export async function* aroundIterable<T, R, N>(
  enter: () => Promise<LockScope>,
  work: (scope: LockScope) => AsyncIterable<T, R, N>,
): AsyncGenerator<T, R, N> {
  let scope: LockScope;
  try {
    scope = await enter();
  } catch (error) {
    throw fromCaller(error, aroundIterable);
  }
  let outcome: 'worked' | 'failed' = 'worked';
  try {
    return yield* iterateIn(
      scope,
      scope.run(() => work(scope)[Symbol.asyncIterator]()),
    );
  } catch (error) {
    outcome = 'failed';
    throw error;
  } finally {
    await scope.leave(outcome);
  }
}

/** Runs each step in the flow. `yield*` passes `next`, `return` and `throw` on. */
export function iterateIn<T, R, N>(scope: LockScope, iterator: AsyncIterator<T, R, N>): AsyncIterable<T, R, N> {
  const steps: AsyncIterator<T, R, N> = { next: (...sent) => scope.run(() => iterator.next(...sent)) };
  // `yield*` tests for these two.
  if (iterator.return) steps.return = (value) => scope.run(() => iterator.return!(value));
  if (iterator.throw) steps.throw = (error: unknown) => scope.run(() => iterator.throw!(error));
  return { [Symbol.asyncIterator]: () => steps };
}
