import type { Lock } from './lock.js';

/**
 * One stay inside a lock: taken (or re-entered) by `LockClient.enter`, left exactly once.
 * The around-advice of `using`, the decorator and the interceptor is the same three steps: enter, run, leave.
 */
export interface LockScope {
  readonly lock: Lock;
  /** Runs `fn` synchronously in the flow of this lock: whatever it starts re-enters the same lock. */
  run<T>(fn: () => T): T;
  /**
   * Ends the stay; the outermost one releases the lock and waits for the answer. Calling it again changes nothing.
   * @param outcome `worked`: the guarded work ended well; `failed`: it threw, and its error is the one to be seen.
   * @throws LockLostError after `worked`, when the lock was lost meanwhile and `onLost` is 'throw'. Never after `failed`.
   */
  leave(outcome: 'worked' | 'failed'): Promise<void>;
}
