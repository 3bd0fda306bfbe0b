import { LockNotAcquiredError, LockQueueFullError } from './lock-errors.js';

/** Whether somebody else has the lock, at once or for the whole of `wait`. A full queue is overload, and an outage says nothing of the lock: neither is contention. */
export const isContention = (error: unknown): error is LockNotAcquiredError =>
  error instanceof LockNotAcquiredError && !(error instanceof LockQueueFullError);
