import { LockConfigurationError } from '../errors/lock-errors.js';

/** Errors that tests get from `nestjs-redis-lock/testing`. */
export const testingRefusals = {
  /** `backend` beside the bed. */
  noBackend: () =>
    new LockConfigurationError(
      "RedisLockTestingModule: there is no option 'backend'; the locks live in the LockTestBed (option bed).",
    ),

  /** `bed.connect` with an object that has no locked methods, or none of this connection. */
  nothingToConnect: (type: string, connection: string) =>
    new LockConfigurationError(
      `LockTestBed.connect: ${type} has no method with @DistributedLock or @LeaderOnly on the connection '${connection}'. Leave connect out, or name the connection: bed.connect(object, name).`,
    ),

  /** `until`: the promise waits for longer than `atMost`. */
  notSettled: (ms: number) =>
    new Error(
      `VirtualClock.until: not settled after ${ms} ms of virtual time. Give it more (atMost), or look what it waits for.`,
    ),

  /** `until`: no timer of the bed is set that the promise could wait for. What takes longer in real time is awaited without `until`. */
  nothingPending: (ms: number) =>
    new Error(
      `VirtualClock.until: not settled after ${ms} ms of real time, and nothing waits for virtual time. Look what it waits for: a promise that nothing settles, or real time.`,
    ),

  /** A timer that arms itself again without a delay. */
  noTimePasses: (at: number) =>
    new Error(
      `VirtualClock: timers run on and on at ${at} ms, and no time passes. Look for a timer that arms itself again at once.`,
    ),
} as const;

/** Warnings of the process while a test runs: once for each clock. */
export const testingLines = {
  /** A test that forgot `bed.until` waits forever. Harmless if the awaited result comes in real time. */
  standstill: (what: string, ms: number) =>
    `A call has waited for ${what} for ${ms} ms, and virtual time stands still. Let it pass: await bed.until(promise), or bed.advance(…).`,
} as const;
