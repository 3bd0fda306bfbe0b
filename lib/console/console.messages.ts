import { describe, printable } from '../errors/describe.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import { wrong } from '../errors/configuration.js';

/** `LockConsoleModule.forRoot`. The application does not start. */
export const consoleRefusals = {
  /** Without guards everybody who reaches the application would see its locks. */
  noGuards: (option: string, given: unknown) =>
    wrong(
      `${option}: ${describe(given)} given; a list of guards (classes or instances) expected, such as guards: [OpsGuard]. Where something in front of the application lets only operators in, write guards: 'none'.`,
    ),

  /** Nest leaves out what has no `canActivate`, in some versions without a word, and the routes are open. */
  noGuard: (option: string, given: unknown) =>
    wrong(
      `${option}: ${typeof given === 'function' ? given.name || 'a function' : describe(given)} is no guard: it has no method canActivate. Look for a typo in its name, and for an import that is undefined.`,
    ),

  /** The same of a class whose objects Nest has made, or makes for each request. */
  noCanActivate: (option: string, name: string) =>
    wrong(
      `LockConsoleModule: ${option}: ${name} is no guard: it has no method canActivate, and Nest would leave it out. Look for a typo in the name of the method.`,
    ),

  /** `decorate` is no list of decorators. */
  noDecorators: (option: string, given: unknown) =>
    wrong(`${option}: ${describe(given)} given; a list of decorators expected, such as decorate: [Roles('ops')].`),

  /** A decorator of `decorate` does not fit on a class or on a method. */
  wrongDecorator: (option: string, index: number, reason: string) =>
    wrong(
      `${option}[${index}] cannot decorate the routes of the console: ${reason}. Give decorators that set metadata.`,
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

/** Findings of the doctor about a console. They never prevent a start. */
export const consoleFindings = {
  /**
   * As the application started, a request without credentials, from an address of no one, has passed the guards. A guard may let pass what is
   * not marked, such as the RolesGuard of Nest's documents: mark the routes with `decorate`. Ignore the finding where the guards mean it so.
   */
  open: (path: string, what: string): LockFinding => ({
    code: 'LOCK_DOCTOR_CONSOLE',
    message: `LockConsoleModule: everybody may ${what} at '${path}': its guards let in a request without credentials. If they look for a mark on the route, set it: decorate: [Roles('ops')]. Else give a guard that refuses who is not known.`,
  }),

  /** `guards` and `forceRelease.guards` are 'none', and no guard of the application refuses. Only where NODE_ENV is 'production'. */
  unguarded: (path: string): LockFinding => ({
    code: 'LOCK_DOCTOR_CONSOLE',
    message: `LockConsoleModule: who reaches this application may release locks by force at '${path}' (guards: 'none'). If nothing in front of it lets only operators in, give guards.`,
  }),
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
