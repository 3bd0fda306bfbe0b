import { inRoot } from './root-context.js';

/** Monotonic milliseconds and timers. Tests use a virtual clock instead. */
export interface Clock {
  /** Milliseconds on a clock that is never set. Unrelated to the time of day. */
  now(): number;
  /**
   * Calls `fn` once after about `delay` milliseconds. Node's timers may fire a millisecond or two *early* by `now()`: callers that must not
   * be early read the clock again. Returns a function that prevents the call.
   * @param isBackground true: the timer alone keeps no process running
   */
  timer(delay: number, fn: () => void, isBackground?: boolean): () => void;
}

/** Milliseconds. Node's timers fire at once for a longer delay. */
export const longestTimer = 2 ** 31 - 1;

/** Its timers belong to no request. */
export const systemClock: Clock = {
  now: () => performance.now(),
  timer(delay, fn, isBackground = false) {
    if (delay > longestTimer) {
      // Twice an option, or the sum of two.
      const goOn = (): void => void (stop = systemClock.timer(delay - longestTimer, fn, isBackground));
      let stop = systemClock.timer(longestTimer, goOn, isBackground);
      return () => stop();
    }
    const handle = inRoot(() => setTimeout(fn, delay));
    if (isBackground) handle.unref();
    return () => {
      clearTimeout(handle);
    };
  },
};

/** Resolves after `ms`, or as soon as the function that `endBy` gets is called. */
export const pauseFor = (clock: Clock, ms: number, endBy: (end: () => void) => void): Promise<void> =>
  new Promise((resolve) => {
    const stop = clock.timer(ms, resolve);
    endBy(() => {
      stop();
      resolve();
    });
  });

/**
 * The moment up to which a lease is certain, when the server counts it from `from` at the earliest.
 *
 * Two monotonic clocks may run at slightly different speeds (NTP slews by up to 500 ppm), and a timer fires up to a millisecond late. A
 * thousandth of the lease and two milliseconds stay unused, so that a loss is signalled before the server's end.
 */
export function certainUntil(from: number, lease: number): number {
  return from + lease - lease / 1000 - 2;
}
