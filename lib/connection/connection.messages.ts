import { describe } from '../core/describe.js';
import { wrong } from '../errors/configuration.js';

/** Calls of the service. */
export const serviceRefusals = {
  /** `using` without a function. */
  noWork: (given: unknown) =>
    wrong(
      `RedisLockService.using: ${describe(given)} given in place of the function to run under the lock; write using(key, () => …).`,
    ),

  /** `adopt` with a value that is no function behind the options. */
  noAdoptedWork: (given: unknown) =>
    wrong(`${describe(given)} given in place of the function to run under the lock; write adopt(ticket, () => …).`),
} as const;

/** The start of a connection. */
export const connectionRefusals = {
  /** One `backend` object for two connections or applications. */
  backendInUse: (connection: string) =>
    wrong(
      `RedisLockModule: the backend of the connection '${connection}' cannot be used: another client uses it already. ` +
        'Give each application and each connection one of its own: forRootAsync({ useFactory: () => ({ backend: new … }) }).',
    ),
} as const;

/** Log lines as the application starts, one for each connection. `reason` is one of the messages of Redis below. */
export const startLines = {
  /** Redis did not answer. */
  unreachable: (connection: string, reason: string) =>
    `Lock connection '${connection}': ${reason} The library keeps trying; until it connects, locks reject with LOCK_UNAVAILABLE.`,

  /** Redis did not answer, with `strict`. */
  notStarted: (connection: string, reason: string) =>
    `Lock connection '${connection}': ${reason} The application does not start (option strict).`,

  /** Redis refuses what the locks need: with or without `strict`. */
  refused: (connection: string, reason: string) =>
    `Lock connection '${connection}': ${reason} The application does not start.`,
} as const;

/** Log lines of the health check (`nestjs-redis-lock/terminus`). */
export const healthLines = {
  /** Warning, once until locks are available again. `reason` is the error with which calls reject. */
  ill: (connection: string, reason: string) =>
    `Lock connection '${connection}': the health check gets no lock: ${reason}`,
} as const;
