import type { Clock } from '../../lib/core/clock.js';

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

/** Timers that may run at one instant: more means that one re-arms itself without end. */
const busyLoop = 1000;

/** Time that passes only when a test lets it. */
export class VirtualClock implements Clock {
  /** Timers fire this much (ms) before their time. */
  earlyBy = 0;
  private time = 1_000;
  private readonly timers = new Set<Timer>();

  /** @param settle what time waits for before it goes on; left out: promise jobs, not messages under way */
  constructor(private readonly settle = settled) {}

  now(): number {
    return this.time;
  }

  timer(delay: number, fn: () => void): () => void {
    const timer = { at: this.time + Math.max(Math.min(delay, 0.5), delay - this.earlyBy), fn };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  /** Timers that were set and neither ran nor were stopped. */
  get pending(): number {
    return this.timers.size;
  }

  /** Time passes, and no code can run: a blocked event loop, a paused process. */
  stall(ms: number): void {
    this.time += ms;
  }

  /** Time passes; timers run at their time, and the work they start settles before time goes on. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await this.settle();
    let instant = this.time;
    let runs = 0;
    for (let next = this.first(); next && next.at <= end; next = this.first()) {
      this.time = Math.max(this.time, next.at);
      runs = this.time === instant ? runs + 1 : 0;
      if (runs > busyLoop) throw new Error(`timers go on at ${instant} without time passing`);
      instant = this.time;
      this.timers.delete(next);
      next.fn();
      await this.settle();
    }
    this.time = end;
  }

  private first(): Timer | undefined {
    return [...this.timers].reduce<Timer | undefined>(
      (first, timer) => (first && first.at <= timer.at ? first : timer),
      undefined,
    );
  }
}

/** Every promise job that is due has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
