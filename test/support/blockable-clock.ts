import type { Clock } from '../../lib/core/clock.js';

/** The time of a thread whose event loop a test can block: its timers fire late. */
export class BlockableClock implements Clock {
  private late: Array<() => void> | undefined;

  constructor(private readonly time: Clock) {}

  now(): number {
    return this.time.now();
  }

  timer(delay: number, fn: () => void): () => void {
    let stopped = false;
    const stop = this.time.timer(delay, () => {
      if (this.late) this.late.push(() => !stopped && fn());
      else fn();
    });
    return () => {
      stopped = true;
      stop();
    };
  }

  get isBlocked(): boolean {
    return this.late !== undefined;
  }

  block(): void {
    this.late = [];
  }

  /** Everything that was due fires now. */
  unblock(): void {
    const { late = [] } = this;
    this.late = undefined;
    for (const fire of late) fire();
  }
}
