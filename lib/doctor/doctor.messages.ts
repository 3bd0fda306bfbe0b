import { LockConfigurationError } from '../errors/lock-errors.js';
import type { LockFinding } from '../core/lock-finding.js';

/** What the doctor finds in the application as it starts: warnings, with `strict` reasons not to start. `ignoreFindings` silences them by their codes. */
export const applicationFindings = {
  /** A caller may stand in the queue for longer than the server keeps its connection open. Work that no request calls may do that: ignore it then. */
  waitBeyondTimeout: (where: string, wait: string, setting: string, timeout: number): LockFinding => ({
    code: 'LOCK_DOCTOR_HTTP_TIMEOUT',
    message: `${where} may wait ${wait} for its lock, and the HTTP server gives its client up after ${timeout} ms (${setting}). Shorten wait, or lengthen ${setting}.`,
  }),

  /** The same for the methods that say nothing else: `wait` of the module. */
  defaultWaitBeyondTimeout: (
    connection: string,
    wait: string,
    methods: string,
    setting: string,
    timeout: number,
  ): LockFinding => ({
    code: 'LOCK_DOCTOR_HTTP_TIMEOUT',
    message:
      `RedisLockModule '${connection}': whoever says nothing else may wait ${wait} for a lock (${methods}), and the HTTP server gives its client up after ` +
      `${timeout} ms (${setting}). Shorten wait in forRoot or at the method, or lengthen ${setting}.`,
  }),

  /** The parameters have single letters for names, and so has the template's: it may mean another one by now. */
  minified: (where: string, placeholder: string, parameters: string): LockFinding => ({
    code: 'LOCK_DOCTOR_MINIFIED',
    message: `${where}: the code is minified, so '${placeholder}' may mean another of its parameters (${parameters}) than the one it was written for. Write its position, such as #{0}, give a key function, or params.`,
  }),

  /** A library has put its own function in front, as the application started: a transaction in it commits after the lock has gone. A mere measurement may be ignored. */
  wrapped: (where: string, holder: string): LockFinding => ({
    code: 'LOCK_DOCTOR_WRAPPED',
    message: `${where}: another function was put in front of it (on ${holder}), so it runs outside of the lock. Let that library decorate the method, or take the lock around it with RedisLockService.using.`,
  }),

  /** A subclass has a method of the same name, without a decorator, that never calls `super`. */
  overridden: (where: string, override: string, method: string): LockFinding => ({
    code: 'LOCK_DOCTOR_OVERRIDDEN',
    message: `${override} overrides ${where} and never calls super.${method}(): it runs without the lock. Call it, or decorate ${override} too.`,
  }),

  /** An object with locked methods that was made by hand: they reject. */
  unprovided: (owner: string, property: string, type: string): LockFinding => ({
    code: 'LOCK_DOCTOR_UNPROVIDED',
    message: `${owner}.${property} is a ${type} that Nest did not make: its locked methods reject. List ${type} as a provider and inject it, or make it by ModuleRef.create.`,
  }),

  /** The backend gave no answer, so nothing is known of its settings. Never a reason not to start. */
  unexamined: (connection: string, ms: number): LockFinding => ({
    code: 'LOCK_DOCTOR_UNEXAMINED',
    message: `RedisLockModule '${connection}': the server's settings could not be looked at within ${ms} ms. Look at its eviction and persistence yourself.`,
    remark: true,
  }),
} as const;

/** What the doctor finds in locks inside each other, while the application runs (`checkNesting`): each is a warning, once. */
export const nestingFindings = {
  /** The outer lock may end while its holder still waits for the inner one. */
  shortLease: (outer: string, lease: number, inner: string, wait: string): LockFinding => ({
    code: 'LOCK_DOCTOR_LEASE',
    message: `${outer} has a fixed lease of ${lease} ms, and inside it ${inner} may wait ${wait}: the outer lock can be lost meanwhile. Give the outer one renew: true or a longer lease, or the inner one a shorter wait.`,
  }),

  /** Two flows, or more in a circle, take locks in different orders: when they meet, each waits for the other until `wait` is over. */
  inversion: (steps: string): LockFinding => ({
    code: 'LOCK_DOCTOR_ORDER',
    message: `Locks are taken inside each other in different orders, and can wait for each other: ${steps}. Take them in one order everywhere, or both at once.`,
  }),
} as const;

/** The end of a start with `strict`. */
export const doctorRefusals = {
  /** All findings, one a line. */
  notStarted: (connection: string, findings: string) =>
    new LockConfigurationError(
      `RedisLockModule '${connection}': the application does not start (option strict):\n${findings}\nMend them, or name their codes in ignoreFindings.`,
    ),
} as const;
