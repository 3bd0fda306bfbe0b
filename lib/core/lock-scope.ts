import type { Lock } from './lock.js';

/**
 * One piece of work inside a lock: taken (or re-entered) by `LockClient.enter`, left exactly once.
 * `using`, the decorator and the interceptor use it in the same three steps: enter, run, leave.
 */
export interface LockScope {
  readonly lock: Lock;
  /** Runs `fn` synchronously in the flow of this lock: everything that it starts re-enters the same lock. */
  run<T>(fn: () => T): T;
  /**
   * Ends the work; the outermost one releases the lock and waits for the reply. Calling it again changes nothing.
   * @param outcome `worked`: the guarded work succeeded; `failed`: it threw, and the caller sees its error.
   * @throws LockLostError after `worked`, when the lock was lost during the work and `onLost` is 'throw'. Never after `failed`.
   */
  leave(outcome: 'worked' | 'failed'): Promise<void>;
}
