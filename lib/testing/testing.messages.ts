import { LockConfigurationError } from '../errors/lock-errors.js';

/** What tests are told, by `nestjs-redis-lock/testing`. */
export const testingRefusals = {
  /** `backend` beside the bed. */
  noBackend: () =>
    new LockConfigurationError(
      "RedisLockTestingModule: there is no option 'backend'; the locks live in the LockTestBed (option bed).",
    ),

  /** `until`: the promise waits for something that no time brings, or for longer than `atMost`. */
  notSettled: (ms: number) =>
    new Error(
      `VirtualClock.until: not settled after ${ms} ms of virtual time. Give it more (atMost), or look what it waits for.`,
    ),

  /** A timer that arms itself again without a delay. */
  noTimePasses: (at: number) =>
    new Error(
      `VirtualClock: timers run on and on at ${at} ms, and no time passes. Look for a timer that arms itself again at once.`,
    ),

  /** `lockBackendConformance` in a framework without globals, such as node:test. */
  noFramework: (name: string) =>
    new Error(
      `lockBackendConformance: there is no global function '${name}'. Give the functions of your test framework: ` +
        'lockBackendConformance(open, { describe, it, beforeAll, afterEach, afterAll }).',
    ),
} as const;
