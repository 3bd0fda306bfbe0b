import { LockConfigurationError } from '../../errors/lock-errors.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';

/**
 * Findings of the doctor in the application as it starts. They are warnings. With `strict` the application does not start. A remark is
 * neither. `ignoreFindings` silences findings by their codes.
 */
export const applicationFindings = {
  /** A caller may wait in the queue for longer than the server keeps its connection open. Ignore the finding for work that no request calls. */
  waitBeyondTimeout: (where: string, wait: string, setting: string, timeout: number): LockFinding => ({
    code: 'LOCK_DOCTOR_HTTP_TIMEOUT',
    message: `${where} may wait ${wait} for its lock, and the HTTP server drops its client after ${timeout} ms (${setting}). Shorten wait, or lengthen ${setting}.`,
  }),

  /** The same for methods without a `wait` of their own: `wait` of the module. */
  defaultWaitBeyondTimeout: (
    connection: string,
    wait: string,
    methods: string,
    setting: string,
    timeout: number,
  ): LockFinding => ({
    code: 'LOCK_DOCTOR_HTTP_TIMEOUT',
    message:
      `RedisLockModule '${connection}': methods without a wait of their own may wait ${wait} for a lock (${methods}), and the HTTP server drops its client after ` +
      `${timeout} ms (${setting}). Shorten wait in forRoot or at the method, or lengthen ${setting}.`,
  }),

  /** The parameters have names of one letter, and so has the template: it may mean another parameter now. */
  minified: (where: string, placeholder: string, parameters: string): LockFinding => ({
    code: 'LOCK_DOCTOR_MINIFIED',
    message: `${where}: the code is minified, so '${placeholder}' may mean another of its parameters (${parameters}) than the one it was written for. Write its position, such as #{0}, give a key function, or params.`,
  }),

  /**
   * A library has put its own function in front as the application started: a transaction in it commits after the lock was released. Ignore
   * the finding for a function that only measures.
   */
  wrapped: (where: string, holder: string): LockFinding => ({
    code: 'LOCK_DOCTOR_WRAPPED',
    message: `${where}: another function was put in front of it (on ${holder}), so it runs outside of the lock. Let that library decorate the method, or take the lock around it with RedisLockService.using.`,
  }),

  /** A subclass has a method of the same name, without a decorator, that never calls `super`. */
  overridden: (where: string, override: string, method: string): LockFinding => ({
    code: 'LOCK_DOCTOR_OVERRIDDEN',
    message: `${override} overrides ${where} and never calls super.${method}(): it runs without the lock. Call it, or decorate ${override} too.`,
  }),

  /** An object with locked methods that the application made itself: its methods reject. */
  unprovided: (owner: string, property: string, type: string): LockFinding => ({
    code: 'LOCK_DOCTOR_UNPROVIDED',
    message: `${owner}.${property} is a ${type} that Nest did not make: its locked methods reject. List ${type} as a provider and inject it, or create it with ModuleRef.create.`,
  }),

  /** A job or listener that each process calls, with a lock that it waits for. */
  eachProcessInTurn: (where: string, caller: string, wait: string, key: string, minHold: string): LockFinding => ({
    code: 'LOCK_DOCTOR_SCHEDULE',
    message: `${where} is ${caller}, and waits ${wait} for its lock: so each process runs it, one after the other. To run it once, write @DistributedLock({ key: ${key}, onContended: 'skip', minHold: ${minHold} }), with a minHold shorter than the time between two runs.`,
  }),

  /** The same without a wait, and without `minHold`. */
  lateProcess: (where: string, caller: string, key: string, minHold: string): LockFinding => ({
    code: 'LOCK_DOCTOR_SCHEDULE',
    message: `${where} is ${caller}, and has no minHold: a process that starts it late finds the lock free after a quick run, and runs it again. Write @DistributedLock({ key: ${key}, onContended: 'skip', minHold: ${minHold} }), with a minHold shorter than the time between two runs.`,
  }),

  /** A job whose `minHold` is as long as its period, or longer. */
  skippedRuns: (where: string, period: number, given: number, minHold: string): LockFinding => ({
    code: 'LOCK_DOCTOR_SCHEDULE',
    message: `${where} runs every ${period} ms, and minHold keeps its lock for ${given} ms: the runs until then are skipped in all processes. Write a minHold shorter than its period, such as minHold: ${minHold}.`,
  }),

  /**
   * A global filter that Nest makes for each request comes before LockErrorFilter, takes all errors, and its source reads no status but that of an
   * HttpException. Never a reason not to start: only the filter knows what it sends.
   */
  catchAll: (filter: string): LockFinding => ({
    code: 'LOCK_DOCTOR_FILTER',
    message: `${filter} is made for each request, so it runs before LockErrorFilter, and a contended lock may get a 500 response instead of 409. Let it send error.statusCode for a LockError, or give it the default scope.`,
  }),

  /** A process that serves HTTP, a second after it began to listen. Not checked in tests. Your own `process.on('SIGTERM', …)` is fine, too. */
  noShutdown: (): LockFinding => ({
    code: 'LOCK_DOCTOR_SHUTDOWN',
    message:
      'Nothing in this process listens for SIGTERM: a deploy ends it at once, and its locks stay held until their leases end. Call app.enableShutdownHooks() in main.ts.',
  }),

  /** The backend did not answer, so its settings are unknown. Never a reason not to start. */
  unexamined: (connection: string, ms: number): LockFinding => ({
    code: 'LOCK_DOCTOR_UNEXAMINED',
    message: `RedisLockModule '${connection}': the server's settings could not be read within ${ms} ms. Check its eviction and persistence yourself.`,
    remark: true,
  }),
} as const;

/** Findings of the doctor in nested locks, while the application runs (`checkNesting`). Each is a warning, once. */
export const nestingFindings = {
  /** The outer lock may end while its holder still waits for the inner one. */
  shortLease: (outer: string, lease: number, inner: string, wait: string): LockFinding => ({
    code: 'LOCK_DOCTOR_LEASE',
    message: `${outer} has a fixed lease of ${lease} ms, and inside it ${inner} may wait ${wait}: the outer lock can be lost during that wait. Give the outer one renew: true or a longer lease, or the inner one a shorter wait.`,
  }),

  /** Two flows, or more in a circle, take locks in different orders: when they meet, each waits for the other until `wait` ends. */
  inversion: (steps: string): LockFinding => ({
    code: 'LOCK_DOCTOR_ORDER',
    message: `Locks are nested in different orders, and can wait for each other: ${steps}. Take them in one order everywhere, or both at once.`,
  }),
} as const;

/** Other lines of the doctor. */
export const doctorLines = {
  /** The last line of the doctor while the application runs. */
  noMore: (most: number) => `The lock doctor has logged ${most} findings and logs no more until the next start.`,
} as const;

/** The end of a start with `strict`. */
export const doctorRefusals = {
  /** All findings, one on each line. */
  notStarted: (connection: string, findings: string) =>
    new LockConfigurationError(
      `RedisLockModule '${connection}': the application does not start (option strict):\n${findings}\nFix them, or name their codes in ignoreFindings.`,
    ),
} as const;
