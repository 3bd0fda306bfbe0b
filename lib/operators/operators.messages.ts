import { LockConfigurationError } from '../errors/lock-errors.js';
import { describe, printable } from '../errors/describe.js';

/** Looking at locks: `inspect`, `forceRelease`, `list`. */
export const viewRefusals = {
  /** A `backend` of your own that leaves this out. */
  notProvided: (what: string) =>
    new LockConfigurationError(`${what}: the backend of this connection does not provide it. Use another connection.`),

  /** `list({ startsWith })` with something else than text. */
  noStart: (given: unknown) =>
    new LockConfigurationError(
      `startsWith: ${describe(given)} given; write what the lock names begin with, such as 'product:'.`,
    ),
} as const;

/** Log lines about what operators see, and do. */
export const operatorLines = {
  /** Warning, once: the locks of this process work, and the console does not show what its callers wait for. */
  refused: (connection: string, reason: string) =>
    `Lock connection '${connection}': operators do not see the activity of this process: ${reason}`,

  /** Warning, once until locks are available again. `reason` is the error with which calls reject. */
  ill: (connection: string, reason: string) =>
    `Lock connection '${connection}': the health check gets no lock: ${reason}`,

  /** Warning, in the process that called `forceRelease`; a holder that still works logs its loss by itself. */
  forceReleased: (key: string, by: string, holders: string, reason?: string) =>
    `Lock ${printable(key)} was released by force, by ${by}. It was held by ${holders}.` +
    (reason === undefined ? '' : ` Reason: ${printable(reason)}.`),
} as const;
