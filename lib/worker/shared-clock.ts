import type { Clock } from '../core/clock.js';

/** Milliseconds of the one clock that all threads read: `performance.now()` has another origin in each. */
const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

/** How exact (ms) the difference between both clocks is worth knowing, and how often it is measured for that. */
const precision = 0.05;
const mostMeasurements = 100;

/**
 * Times of this thread's clock as times of all threads, in whole microseconds. A thread may stand still between the readings of both
 * clocks: so the difference is known by two bounds, and each conversion errs to the early side. A lease never gets longer on its way.
 */
export class SharedClock {
  private least = Number.NEGATIVE_INFINITY;
  private most = Number.POSITIVE_INFINITY;

  constructor(
    clock: Pick<Clock, 'now'>,
    private readonly common: () => number = monotonic,
  ) {
    for (let count = 0; count < mostMeasurements && this.most - this.least > precision; count++) {
      const before = clock.now();
      const between = common();
      const after = clock.now();
      this.least = Math.max(this.least, between - after);
      this.most = Math.min(this.most, between - before);
    }
  }

  /** The present time of all threads. */
  now(): number {
    return Math.floor(this.common() * 1000);
  }

  /** @param at local ms */
  toShared(at: number): number {
    return at === Number.POSITIVE_INFINITY ? Number.MAX_SAFE_INTEGER : Math.floor((at + this.least) * 1000);
  }

  /** @returns local ms */
  toLocal(shared: number): number {
    return shared / 1000 - this.most;
  }
}
