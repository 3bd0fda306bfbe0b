import { describe, printable } from '../core/describe.js';
import { wrong } from '../errors/configuration.js';

/** `LockConsoleModule.forRoot`. The application does not start. */
export const consoleRefusals = {
  /** Without guards everybody who reaches the application would see its locks. */
  noGuards: (option: string, given: unknown) =>
    wrong(
      `${option}: ${describe(given)} given; a list of guards (classes or instances) expected, such as guards: [OpsGuard]. Where something in front of the application lets only operators in, write guards: 'none'.`,
    ),

  /** `path` is no text. */
  noPath: (given: unknown) =>
    wrong(`path: ${describe(given)} given; the path of the console expected, such as 'locks'.`),

  /** `forceRelease.actor` or `redact` is no function. */
  noFunction: (option: string, given: unknown) => wrong(`${option}: ${describe(given)} given, a function expected.`),

  /** `connections` is no list of names. */
  noConnections: (given: unknown) =>
    wrong(`connections: ${describe(given)} given; a list of names of connections expected, such as ['default'].`),

  /** The application has no connection of this name, or none at all. */
  noConnection: (connection: string) =>
    wrong(
      `LockConsoleModule: there is no connection '${connection}'. Import RedisLockModule, or change the option connections.`,
    ),
} as const;

/** Lines of the console: in the log, and the first one on the page. */
export const consoleLines = {
  /** In place of a finding that names locks, with the option `redact`. */
  withheld: () => 'Locks are nested in a way that can lose or block them. The log of the process says which.',

  /** Error. The person in front of the page sees only that it did not work. */
  failed: (what: string, reason: string) => `Lock console: ${what} failed: ${reason}`,

  /** Warning: the guards let the request pass, and `forceRelease.actor` does not say who it is. Nothing was released. */
  noActor: (key: string, given: unknown) =>
    `Lock console: ${printable(key)} was not released: forceRelease.actor returned ${describe(given)}, a text of 1 to 200 characters expected.`,
} as const;
