import {
  type LockError,
  type LockHolder,
  LockKindMismatchError,
  LockLostError,
  type LockLostReason,
  LockNotAcquiredError,
  LockQueueFullError,
  LockUnavailableError,
  LockUpgradeError,
  LockWaitTimeoutError,
} from '../errors/lock-errors.js';
import { isInspected } from '../diagnostics/platform.js';
import { describeProcess } from './claim-id.js';
import { printable, errorText } from '../errors/describe.js';

/** Names the caller (`callerOf`), where it is known. */
const at = (where: string | undefined): string => (where === undefined ? '' : `${where}: `);

/** Of a holder without a time of its grant the lease, where that is known. */
const heldBy = (holder: LockHolder, rest: number | undefined): string =>
  describeProcess(holder) +
  (holder.heldFor !== undefined
    ? `, for ${holder.heldFor} ms`
    : rest === undefined
      ? ''
      : rest === Number.POSITIVE_INFINITY
        ? neverEnds
        : `, whose lease ends in ${Math.ceil(rest)} ms`);
/** Another program has written the key without an expiry. */
const neverEnds = ', whose lease never ends';
const debugged = "A debugger is attached, and a breakpoint stops the renewal: set lease: '1h' in development. ";
const anotherCaller = 'another caller';

/** Whole milliseconds. */
const wholeOf = (rest: number | undefined): number | undefined => (rest === undefined ? undefined : Math.ceil(rest));

/** The message of an error for other applications, without the process that holds the lock. */
export function messageForOthers(error: LockError): string {
  const { holder, leaseLeft } = error as Partial<LockNotAcquiredError>;
  return holder ? error.message.replaceAll(heldBy(holder, leaseLeft), anotherCaller) : error.message;
}

/** Locks that could not be taken. `rest`: the known rest of the present holder's lease, in ms. */
export const refusals = {
  /** One try (`wait: 0`, `tryAcquire`), and the lock is taken; also when another caller of this process is requesting it at the moment. */
  contended: (key: string, rest: number | undefined, holder: LockHolder | undefined, where?: string) =>
    new LockNotAcquiredError(
      `${at(where)}Lock ${printable(key)} is held by ${holder ? heldBy(holder, rest) : anotherCaller}. Try again later, or wait for it (option wait).`,
      { key, leaseLeft: wholeOf(rest), holder },
    ),

  /** The holders before took longer than `wait`, or one of them crashed and its lease still runs: then a shorter `lease` helps. */
  waitedTooLong: (
    key: string,
    wait: number,
    rest: number | undefined,
    holder: LockHolder | undefined,
    where?: string,
  ) =>
    new LockWaitTimeoutError(
      `${at(where)}Lock ${printable(key)} was not free within ${wait} ms (option wait)${holder ? `; it is held by ${heldBy(holder, rest)}` : ''}. Wait longer, do less inside it, or lock something smaller.`,
      { key, leaseLeft: wholeOf(rest), holder },
    ),

  /** The flow around the call holds the lock through another client of this process, such as one of `createLockClient`. No wait helps. */
  waitsForItself: (
    key: string,
    wait: number,
    rest: number | undefined,
    holder: LockHolder | undefined,
    where?: string,
  ) => {
    const Type = wait === 0 ? LockNotAcquiredError : LockWaitTimeoutError;
    return new Type(
      `${at(where)}Lock ${printable(key)} is held by ${holder ? heldBy(holder, rest) : anotherCaller}: by the flow that requests it, through another client, so the call waits for itself. Inside the lock, use the client that took it: in an application the injected RedisLockService.`,
      { key, leaseLeft: wholeOf(rest), holder },
    );
  },

  /** Redis did not answer during the whole `wait`, or for `commandTimeout` to the last command. */
  silence: (key: string, option: 'wait' | 'commandTimeout', ms: number, where?: string) =>
    new LockUnavailableError(
      `${at(where)}Lock ${printable(key)}: Redis did not answer within ${ms} ms (option ${option}). Look at Redis, and at what blocks this event loop.`,
      { key, uncertain: true },
    ),

  /** A first use before the application has started: the connection took longer than the call may wait. Nothing was sent. */
  notConnected: (keys: string | readonly string[] | undefined, option: 'wait' | 'commandTimeout', ms: number) => {
    const key = typeof keys === 'string' ? keys : keys?.[0];
    const what = key === undefined ? 'Locks' : `Lock ${printable(key)}`;
    return new LockUnavailableError(
      `${what}: Redis is not connected yet, and did not connect within ${ms} ms (option ${option}). Look at Redis, or wait longer.`,
      { key },
    );
  },

  /** More callers at once than `maxWaiters`, over all names. */
  queueFull: (key: string, waiting: number, where?: string) =>
    new LockQueueFullError(
      `${at(where)}Lock ${printable(key)}: ${waiting} callers of this process wait for locks already (option maxWaiters). Shed the load further out, or let more wait.`,
      { key },
    ),

  /** One call has `limit` and another does not, for the same name at the same time. */
  kindMismatch: (key: string, asked: string, held: string, where?: string) =>
    new LockKindMismatchError(
      `${at(where)}Lock ${printable(key)}: requested as ${asked}, while it is held as ${held}. A name is used with permits (option limit) or without: give one of the two another name.`,
      { key },
    ),

  /** Two such flows would wait for each other forever. */
  upgrade: (key: string, where?: string) =>
    new LockUpgradeError(
      `${at(where)}Lock ${printable(key)}: this flow holds it shared, and would wait for itself. Take it without shared: true outside, or release the shared one first.`,
      { key },
    ),

  /** As `upgrade`: the flow keeps its permits while it would wait. */
  morePermits: (key: string, held: number, asked: number, where?: string) =>
    new LockUpgradeError(
      `${at(where)}Lock ${printable(key)}: this flow holds ${held} of its permits and requests ${asked} inside. Take all of them outside (option permits), or release the first ones before.`,
      { key },
    ),

  /** The caller's `signal` or `wait` ended before a reply could come. No caller sees this error. */
  givenUp: (key: string) => new LockUnavailableError(`Lock ${printable(key)}: given up before a reply came.`, { key }),

  /** A new request, or a waiter, during shutdown. The 503 sends an HTTP client to another instance. */
  shuttingDown: (key?: string) =>
    new LockUnavailableError(
      'The locks of this process are closed, as it shuts down or closed its client. Use another instance.',
      {
        key,
      },
    ),

  /** Redis did not answer to `lock.renew()`. */
  notRenewed: (key: string, where?: string) =>
    new LockUnavailableError(
      `${at(where)}Lock ${printable(key)} could not be renewed: Redis did not answer. It is held until its lease ends; try again while isHeld.`,
      { key, uncertain: true },
    ),
} as const;

const logged = new WeakSet<object>();

/** True when the loss of this lock is in the log already: each is logged when it is noticed. */
export const isLogged = (error: object): boolean => logged.has(error);

function lost(key: string, where: string | undefined, reason: LockLostReason, explanation: string): LockLostError {
  const error = new LockLostError(`${at(where)}Lock ${printable(key)} was lost: ${explanation}`, { key, reason });
  // The other two are mistakes in the caller's code and are only thrown.
  if (reason !== 'released' && reason !== 'exported') logged.add(error);
  return error;
}

const releaseIt =
  'Release it in a finally block, write `await using lock = await locks.acquire(…)`, or use locks.using(…); for as long as the process runs, keep the handle.';

/** Locks that were lost while their holder still worked. Each is also logged. */
export const losses = {
  /** `expired`: work took longer than a fixed lease; the process stood still; Redis was unavailable for the rest of the lease. */
  expired: (key: string, where?: string) =>
    lost(
      key,
      where,
      'expired',
      `its lease ran out. ${isInspected() ? debugged : ''}Give it a longer lease, let it be renewed, or keep the event loop free. Another holder may be at work.`,
    ),

  /** `expired`: the handle of `acquire` was collected while it held, so no code could release the lock. */
  forgotten: (key: string, where?: string) =>
    lost(
      key,
      where,
      'expired',
      `its handle was collected without a release, so it was not renewed, and its lease ran out. ${releaseIt} Another holder may be at work.`,
    ),

  /** `expired`, with `renewFrom: 'worker'`: a hung process must not keep its locks forever. */
  stalled: (key: string, where?: string) =>
    lost(
      key,
      where,
      'expired',
      'the event loop was blocked for longer than stallLimit, so the worker renewed the lease no longer, and it ran out. Find what blocks it, or raise stallLimit. Another holder may be at work.',
    ),

  /**
   * `revoked`: an operator released it by force (`forceRelease`), or Redis lost the key. The right settings:
   * [guarantees](https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/production.md#settings-for-the-server).
   */
  revoked: (key: string, where?: string) =>
    lost(
      key,
      where,
      'revoked',
      'Redis no longer knows this holder (released by force, flushed, evicted, deleted, restarted without its data, or lost in a failover). Look at its persistence and eviction. Another holder may be at work.',
    ),

  /** `max-hold`: the work hangs, or `maxHold` is too short. The lock expires by itself. */
  'max-hold': (key: string, where?: string) =>
    lost(
      key,
      where,
      'max-hold',
      'it was held for longer than maxHold and is no longer renewed. Find what hangs, let the work end on its signal, or raise maxHold.',
    ),

  /** `released`: `assertHeld()` or `renew()` after `release()`. */
  released: (key: string, where?: string) =>
    lost(key, where, 'released', 'it was released before. Use it before its release, or acquire it again.'),

  /** `exported`: `assertHeld()` or `renew()` after `export()`. */
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

/** A warning of the process, where the application's own log fails. */
export const logLines = {
  /** The log that was given to the module or the client threw or rejected. The locks go on; the line is in the warning. */
  failed: (line: string, error: unknown) =>
    `The log of the application has failed: ${errorText(error)}. Its line was: ${line}`,
} as const;

/** Log lines about handles. */
export const handleLines = {
  /** `acquire` without `release`: the garbage collector found the handle. Until then the lock was renewed. */
  forgotten: (locks: string) =>
    `The handles of these locks were collected without a release: ${locks}. Unless others are inside, they are not renewed any more and end with their leases. ${releaseIt}`,
} as const;

/** Log lines while the application closes. */
export const shutdownLines = {
  /** Running work gets `shutdownTimeout` to end. The line names the key and method of work that hangs. */
  waits: (timeout: number, locks: string) =>
    `Shutdown waits for the work inside these locks, for up to ${timeout} ms (option shutdownTimeout): ${locks}.`,
} as const;

/** Most locks in one log line. */
const mostNamed = 5;

/** Some holds for a log line: key and caller of each. */
export function holdsNamed(
  holds: ReadonlyArray<{ readonly name: string; readonly caller: string | undefined }>,
): string {
  const named = holds
    .slice(0, mostNamed)
    .map(({ name, caller }) => `${printable(name)}${caller ? ` (${caller})` : ''}`);
  if (holds.length > mostNamed) named.push(`${holds.length - mostNamed} more`);
  return named.join(', ');
}

export const lostError = (key: string, reason: keyof typeof losses, where?: string): LockLostError =>
  losses[reason](key, where);
