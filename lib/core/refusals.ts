import {
  LockConfigurationError,
  LockKindMismatchError,
  LockLostError,
  type LockLostReason,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockUpgradeError,
  LockWaitTimeoutError,
} from '../errors/lock-errors.js';
import { describe, printable } from './describe.js';

/** In front of what concerns one caller: the class and method that asked, where the decorator knows them. */
const at = (where: string | undefined): string => (where === undefined ? '' : `${where}: `);

/** Locks that are not to be had. `rest`: what is known of the present holder's lease, in ms. */
export const refusals = {
  /** One try (`wait: 0`, `tryAcquire`), and the lock is taken; also when another caller of this process is asking for it at the moment. */
  contended: (key: string, rest: number | undefined, where?: string) =>
    new LockNotAcquiredError(
      `${at(where)}Lock ${printable(key)} is held by somebody else. Try again later, or wait for it (option wait).`,
      { key, retryAfter: rest },
    ),

  /** The holders before took longer than `wait`, or one of them crashed and its lease still runs: then a shorter `lease` helps. */
  waitedTooLong: (key: string, wait: number, rest: number | undefined, where?: string) =>
    new LockWaitTimeoutError(
      `${at(where)}Lock ${printable(key)} was not free within ${wait} ms (option wait). Wait longer, do less inside it, or lock something smaller.`,
      { key, retryAfter: rest },
    ),

  /** `wait` was over, and the last question of this waiter went unanswered. */
  silence: (key: string, wait: number, where?: string) =>
    new LockUnavailableError(
      `${at(where)}Lock ${printable(key)}: Redis did not answer within ${wait} ms (option wait). Look at Redis, and at what blocks this event loop.`,
      { key, uncertain: true },
    ),

  /** More callers at once than `maxWaiters`, over all names. */
  queueFull: (key: string, waiting: number, where?: string) =>
    new LockQueueFullError(
      `${at(where)}Lock ${printable(key)}: ${waiting} callers of this process wait for locks already (option maxWaiters). Shed the load further out, or let more wait.`,
      { key },
    ),

  /** `limit` at one place, and none at another, for one name at one time. */
  kindMismatch: (key: string, asked: string, held: string, where?: string) =>
    new LockKindMismatchError(
      `${at(where)}Lock ${printable(key)}: ${asked} asked for, while it is ${held}. A name is used with permits (option limit) or without: give one of the two another name.`,
      { key },
    ),

  /** Two such flows would wait for each other for ever. */
  upgrade: (key: string, where?: string) =>
    new LockUpgradeError(
      `${at(where)}Lock ${printable(key)}: this flow holds it shared, and would wait for itself. Take it without shared: true outside, or leave the shared one first.`,
      { key },
    ),

  /** As `upgrade`: what the flow has is not given back meanwhile. */
  morePermits: (key: string, held: number, asked: number, where?: string) =>
    new LockUpgradeError(
      `${at(where)}Lock ${printable(key)}: this flow holds ${held} of its permits, and asks for ${asked} inside. Take all of them outside (option permits), or leave the first ones before.`,
      { key },
    ),

  /** A new request, or a waiter, during shutdown. The 503 sends an HTTP client to another instance. */
  shuttingDown: (key?: string) =>
    new LockUnavailableError('The application is shutting down; no lock is given out any more. Ask another instance.', {
      key,
    }),

  /** `lock.renew()` by hand went unanswered. */
  notRenewed: (key: string, where?: string) =>
    new LockUnavailableError(
      `${at(where)}Lock ${printable(key)} could not be renewed: Redis did not answer. It is held until its lease ends; try again while isHeld.`,
      { key, uncertain: true },
    ),
} as const;

const lost = (key: string, where: string | undefined, reason: LockLostReason, explanation: string): LockLostError =>
  new LockLostError(`${at(where)}Lock ${printable(key)} was lost: ${explanation}`, { key, reason });

/** Locks that were lost while their holder still worked; each is also a line in the log. */
export const losses = {
  /** `expired`: work took longer than a fixed lease; the process stood still; Redis was away for the rest of the lease. */
  expired: (key: string, where?: string) =>
    lost(
      key,
      where,
      'expired',
      'its lease ran out. Give it a longer lease, let it be renewed, or keep the event loop free. Another holder may be at work.',
    ),

  /** `revoked`: somebody released it by force (`forceRelease`), or Redis lost the key. What its settings should be: [guarantees](guarantees.md#settings-for-the-server). */
  revoked: (key: string, where?: string) =>
    lost(
      key,
      where,
      'revoked',
      'Redis no longer knows this holder (released by force, flushed, evicted, deleted, restarted without its data, or lost in a failover). Look at its persistence and eviction. Another holder may be at work.',
    ),

  /** `max-hold`: the work hangs, or `maxHold` is too short. The lock runs out by itself. */
  'max-hold': (key: string, where?: string) =>
    lost(
      key,
      where,
      'max-hold',
      'it was held for longer than maxHold, and is not renewed any more. Find what hangs, let the work end on its signal, or raise maxHold.',
    ),

  /** `released`: `assertHeld()` or `renew()` after the own `release()`. */
  released: (key: string, where?: string) =>
    lost(key, where, 'released', 'it was released before. Use it before its release, or acquire it again.'),

  /** `exported`: `assertHeld()` or `renew()` after the own `export()`. */
  exported: (key: string, where?: string) =>
    lost(key, where, 'exported', 'it was handed over (export). Use it where it is adopted.'),

  /** `shutdown`: the work took longer than `shutdownTimeout`. */
  shutdown: (key: string, where?: string) =>
    lost(
      key,
      where,
      'shutdown',
      'the application ended before the work did (shutdownTimeout). Let the work end on its signal, or raise shutdownTimeout.',
    ),
} as const;

const wrong = (problem: string): LockConfigurationError => new LockConfigurationError(problem);

/** Lock names and options, of a module, a method or a call: refused at once, and nothing is sent. What was called stands in front. */
export const inputRefusals = {
  /** `undefined` must not become one lock for everybody. */
  noName: (given: unknown) =>
    wrong(`key: ${describe(given)} given; a lock name is a string, such as 'product:42'. Check what it is made of.`),

  /** The empty string. */
  emptyName: () => wrong("key: the lock name is empty; name what is locked, such as 'product:42'."),

  /** Longer than 1 KB. */
  longName: (key: string, bytes: number, allowed: number) =>
    wrong(`key: ${printable(key)} has ${bytes} bytes, ${allowed} are allowed. Use a hash of it.`),

  /** Text that was cut in the middle of a character. */
  halfPair: (key: string) =>
    wrong(
      `key: ${printable(key)} holds half of a surrogate pair; different names would meet in one key. Cut text between characters.`,
    ),

  /** `key: []`, or a key function that found nothing to lock: running unlocked would be no answer. */
  noNames: () => wrong('key: the list of lock names is empty; name at least one, or do not lock.'),

  /** More names than one lock takes. */
  tooManyNames: (names: number, allowed: number) =>
    wrong(`key: ${names} lock names given, ${allowed} are allowed. Lock something that stands for all of them.`),

  /** Something else than an object where options stand. */
  noObject: (what: string, given: unknown) => wrong(`${what}: ${describe(given)} given, an object expected.`),

  /** A misspelt or unknown option. */
  unknownOption: (what: string, name: string, suggestion: string) =>
    wrong(`${what}: there is no option ${printable(name)}. ${suggestion}`),

  /** A value that is none of a few. */
  noChoice: (option: string, given: unknown, choices: string) =>
    wrong(`${option}: ${describe(given)} given; write ${choices}.`),

  /** `NaN`, a fraction, a negative number, a text that `ms` cannot read, more than 24.8 days. */
  noDuration: (option: string, given: unknown, min: number, max: number, orInfinity: string) =>
    wrong(
      `${option}: ${describe(given)} is no duration; write whole milliseconds from ${min} to ${max}${orInfinity} or a string such as '30s'.`,
    ),

  /** A number that is no whole one, or too small. */
  noWholeNumber: (option: string, given: unknown, least: number) =>
    wrong(`${option}: ${describe(given)} given, a whole number from ${least} expected.`),

  /** `shared` and `limit` at once. */
  sharedPermits: () =>
    wrong(
      'shared: stands beside limit; a lock is shared by any number of readers, or it has permits. Leave one of them out.',
    ),

  /** `permits` alone. */
  permitsWithoutLimit: () =>
    wrong('permits: stands without limit; say how many permits there are in all, such as limit: 10.'),

  /** More at once than there are. */
  tooManyPermits: (permits: number, limit: number) =>
    wrong(`permits: ${permits} given, there are ${limit} in all (option limit). Ask for fewer, or raise limit.`),

  /** An AbortController, or a signal of another library. */
  noSignal: (given: unknown) => wrong(`signal: ${describe(given)} given, an AbortSignal expected.`),
} as const;

export const lostError = (key: string, reason: keyof typeof losses, where?: string): LockLostError =>
  losses[reason](key, where);
