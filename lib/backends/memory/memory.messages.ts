import { describe, printable } from '../../errors/describe.js';
import { LockConfigurationError, LockUnavailableError } from '../../errors/lock-errors.js';

/** The backend in memory. */
export const memoryRefusals = {
  /** One backend for two applications, or started twice. */
  inUse: () =>
    new LockConfigurationError(
      'MemoryLockBackend: another client uses it already. Make one backend for each; put them on one MemoryLockServer to let them contend.',
    ),

  /** `faults.unavailable(…)` and other faults on demand, or a backend that was closed. */
  unavailable: (key: string | undefined, what: string, uncertain = false) =>
    new LockUnavailableError(
      `${key === undefined ? 'Locks' : `Lock ${printable(key)}`}: the memory server ${what}. See its faults.`,
      { key, uncertain },
    ),

  /** An invalid number of faults. */
  noCount: (fault: string, given: unknown, most: number) =>
    new LockConfigurationError(`${fault}: ${describe(given)} given, a whole number from 1 to ${most} expected.`),

  /** Virtual time stands still, and callers request locks again and again: a loop without an `await` on time. */
  endless: () =>
    new Error(
      'Locks are requested in an endless loop while time stands still. Let the loop wait, or advance the clock in the test.',
    ),
} as const;
