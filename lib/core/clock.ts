/** Time as the engine sees it: monotonic milliseconds and timers. Tests put a virtual one in its place. */
export interface Clock {
  /** Milliseconds on a clock that is never set. Unrelated to the time of day. */
  now(): number;
  /**
   * Calls `fn` once after about `delay` milliseconds: Node's timers may fire a millisecond or two *early* by `now()`, so
   * whoever must not be early looks at the clock again. Answers how to prevent the call.
   */
  timer(delay: number, fn: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  timer(delay, fn) {
    const handle = setTimeout(fn, delay);
    return () => {
      clearTimeout(handle);
    };
  },
};

/**
 * The moment up to which a lease is certain that the server counts from `from` at the earliest.
 *
 * Two monotonic clocks may run at slightly different speeds (NTP slews by up to 500 ppm), and a timer fires up to a
 * millisecond late: a thousandth of the lease and two milliseconds stay unused, so that a loss is signalled before the server's end.
 */
export function certainUntil(from: number, lease: number): number {
  return from + lease - lease / 1000 - 2;
}
