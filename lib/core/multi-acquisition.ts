import type { CallOptions } from './options.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { LockError } from '../errors/lock-errors.js';
import { type HandleHost, LockHandle } from './lock-handle.js';
import { MultiLock, giveBack } from './multi-lock.js';
import { withFirstOf } from './on-abort.js';

/** What it needs from its client. */
export interface MultiAcquisitionHost extends HandleHost {
  readonly clock: Clock;
  /** Takes one name, or re-enters it when the running flow holds it. */
  acquire(name: string, options: CallOptions): Promise<LockHandle>;
  /** The terms of the hold have changed: the watchdog reads them again. */
  rescheduled(hold: Hold): void;
}

/**
 * Takes all names or none.
 *
 * First it requests all names at once without waiting: one command when they are free. When another claim has one of them, it releases the
 * names behind that one in order, and waits for it while it holds only names in front of it. All callers keep to this one order, so no
 * circle of waiting callers can close.
 *
 * What the flow held before stays held, like any other outer lock.
 * @param names sorted, without duplicates
 */
export async function acquireAll(
  host: MultiAcquisitionHost,
  names: readonly string[],
  options: CallOptions,
): Promise<MultiLock> {
  const { calledAt = host.clock.now() } = options;
  // The work has not begun: until then leases do not end, and a name that is released is free at once.
  const step: CallOptions = {
    ...options,
    calledAt,
    renew: true,
    // A fixed lease has no watchdog but for the time of the wait.
    renewFrom: options.renew ? options.renewFrom : 'main',
    maxHold: Number.POSITIVE_INFINITY,
    minHold: 0,
  };
  const oneTry: CallOptions = { ...step, wait: 0, tryFor: options.wait };
  const taken: LockHandle[] = [];
  const givenBack: Array<Promise<void>> = [];
  try {
    for (;;) {
      const { free, surplus, failure } = sortOut(
        await Promise.allSettled(names.slice(taken.length).map((name) => host.acquire(name, oneTry))),
      );
      taken.push(...free);
      // Before the next request: both travel in one packet.
      if (surplus.length > 0) givenBack.push(giveBack(surplus));
      if (!failure) break;
      if (options.wait === 0 || !isContended(failure.reason)) throw failure.reason;
      // A caller that has lost a name already need not wait for the next.
      const signals = taken.map(({ signal }) => signal);
      const ends = options.signal ? [options.signal, ...signals] : signals;
      taken.push(await withFirstOf(ends, (signal) => host.acquire(names[taken.length]!, { ...step, signal })));
      if (taken.length === names.length) break;
    }
    const lock = new MultiLock(taken, host);
    // The event loop may have stood still, and a lease may have expired.
    if (!lock.isHeld) throw lock.lost!;
    const begun = taken.filter(({ depth }) => depth === 1).map((part) => LockHandle.holdOf(part));
    const latest = Math.max(...begun.map(({ wholeUntil }) => wholeUntil));
    for (const hold of begun) {
      hold.begin(options, latest);
      host.rescheduled(hold);
    }
    return lock;
  } catch (error) {
    // A caller that gets an error holds nothing.
    await Promise.all([...givenBack, giveBack(taken)]);
    throw error;
  }
}

/** What was taken before the first refused name, what was taken behind it, and why the call failed there. */
function sortOut(tries: ReadonlyArray<PromiseSettledResult<LockHandle>>): {
  free: LockHandle[];
  surplus: LockHandle[];
  failure: PromiseRejectedResult | undefined;
} {
  const free: LockHandle[] = [];
  const surplus: LockHandle[] = [];
  let failure: PromiseRejectedResult | undefined;
  for (const result of tries) {
    if (result.status === 'fulfilled') (failure ? surplus : free).push(result.value);
    // A failure that waiting cannot cure takes precedence.
    else if (!failure || (isContended(failure.reason) && !isContended(result.reason))) failure = result;
  }
  return { free, surplus, failure };
}

const isContended = (reason: unknown): boolean => (reason as LockError | null)?.code === 'LOCK_CONTENDED';
