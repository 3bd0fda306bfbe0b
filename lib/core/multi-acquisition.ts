import type { CallOptions } from './caller.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { LockError } from '../errors/lock-errors.js';
import type { LockHandle } from './lock-handle.js';
import { MultiLock, giveBack, type MultiLockHost } from './multi-lock.js';
import type { ResolvedLockOptions } from './options.js';

/** What it needs from its client. */
export interface MultiAcquisitionHost extends MultiLockHost {
  readonly clock: Clock;
  /** Takes one name, or re-enters it when the running flow holds it. */
  acquire(name: string, options: CallOptions): Promise<LockHandle>;
  /** The hold is under other terms from now on: the watchdog looks at it anew. */
  rescheduled(hold: Hold): void;
}

/**
 * Takes all names or none.
 *
 * First all are asked for at once and none is waited for: one command when they are free. When somebody has one of them,
 * what stands behind it in order is given back, and it is waited for with nothing but names in hand that stand before it. So whoever waits
 * holds only what comes earlier in the one order that everybody keeps to: no circle can close.
 *
 * What the flow held before is held on throughout: an outer lock like any other.
 * @param names sorted, without repetitions
 */
export async function acquireAll(
  host: MultiAcquisitionHost,
  names: readonly string[],
  options: ResolvedLockOptions,
): Promise<MultiLock> {
  const calledAt = host.clock.now();
  // The work has not begun: until then a lease is neither fixed nor at its end, and what is given back is free at once.
  const step: CallOptions = { ...options, calledAt, renew: true, maxHold: Number.POSITIVE_INFINITY, minHold: 0 };
  const oneTry: CallOptions = { ...step, wait: 0, tryFor: options.wait };
  const taken: LockHandle[] = [];
  const givenBack: Array<Promise<void>> = [];
  try {
    for (;;) {
      const { free, surplus, failure } = sortOut(
        await Promise.allSettled(names.slice(taken.length).map((name) => host.acquire(name, oneTry))),
      );
      taken.push(...free);
      // Before the next question: both travel in one packet.
      if (surplus.length > 0) givenBack.push(giveBack(surplus));
      if (!failure) break;
      if (options.wait === 0 || !isContended(failure.reason)) throw failure.reason;
      // Who has lost a name already need not wait for the next.
      const signals = taken.map(({ signal }) => signal);
      const signal = AbortSignal.any(options.signal ? [options.signal, ...signals] : signals);
      taken.push(await host.acquire(names[taken.length]!, { ...step, signal }));
      if (taken.length === names.length) break;
    }
    const lock = new MultiLock(taken, host);
    // The event loop may have stood still: an expired lock is none.
    lock.assertHeld();
    for (const { hold, depth } of taken) {
      if (depth > 1) continue;
      hold.begin(options);
      host.rescheduled(hold);
    }
    return lock;
  } catch (error) {
    // Whoever is told that it has nothing has nothing.
    await Promise.all([...givenBack, giveBack(taken)]);
    throw error;
  }
}

/** What was had before the first name that was not, what stands behind it, and why the call cannot go on as it is. */
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
    // What waiting cannot help comes before what it can.
    else if (!failure || (isContended(failure.reason) && !isContended(result.reason))) failure = result;
  }
  return { free, surplus, failure };
}

const isContended = (reason: unknown): boolean => (reason as LockError | null)?.code === 'LOCK_CONTENDED';
