import {
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockWaitTimeoutError,
} from '../errors/lock-errors.js';
import { printable } from './describe.js';

/** Why a caller does not get its lock. `rest`: what is known of the present holder's lease, in ms. */
export const refusals = {
  contended: (key: string, rest: number | undefined) =>
    new LockNotAcquiredError(`Lock ${printable(key)} is held by somebody else.`, { key, retryAfter: rest }),

  waitedTooLong: (key: string, wait: number, rest: number | undefined) =>
    new LockWaitTimeoutError(`Lock ${printable(key)} was not free within ${wait} ms (option wait).`, {
      key,
      retryAfter: rest,
    }),

  silence: (key: string, wait: number) =>
    new LockUnavailableError(`Lock ${printable(key)}: Redis did not answer within ${wait} ms (option wait).`, {
      key,
      uncertain: true,
    }),

  queueFull: (key: string, waiting: number) =>
    new LockQueueFullError(
      `Lock ${printable(key)}: ${waiting} callers of this process wait for locks already (option maxWaiters).`,
      { key },
    ),

  shuttingDown: (key?: string) =>
    new LockUnavailableError('The application is shutting down; no lock is given out any more.', { key }),
} as const;
