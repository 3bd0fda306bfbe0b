import { settled } from '../backends/memory/index.js';
import type { Clock } from '../core/clock.js';
import { type Duration, parseDuration } from '../core/duration.js';
import { testingRefusals as refusals } from './testing.messages.js';

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

/** Timers that may run at one instant: more means that one arms itself again and again. */
const mostAtOnce = 1000;

/**
 * Time that stands still until a test lets it pass. Between two timers everything that follows from the first one settles:
 * answers of memory backends, and promises of the code under test. What that code waits for outside (files, sockets, real timers) is
 * not waited for.
 */
export class VirtualClock implements Clock {
  private time = 0;
  private readonly timers = new Set<Timer>();
  /** How many timers ran at the present instant. */
  private crowd = { at: -1, size: 0 };

  now(): number {
    return this.time;
  }

  timer(delay: number, fn: () => void): () => void {
    // As with Node's timers nothing is shorter than a millisecond: who halves a rest again and again comes to its end.
    const timer = { at: this.time + (delay > 0 ? Math.max(1, delay) : 0), fn };
    this.timers.add(timer);
    return () => {
      this.timers.delete(timer);
    };
  }

  /** Timers that were set, and neither ran nor were stopped. */
  get pending(): number {
    return this.timers.size;
  }

  /**
   * Lets time pass: whatever falls due runs at its time and in order.
   * @param duration 0 runs what is due, and settles.
   * @throws LockConfigurationError for a wrong duration.
   */
  async advance(duration: Duration): Promise<void> {
    const end = this.time + parseDuration('advance', duration, { min: 0 });
    await settled();
    while (await this.step(end));
    this.time = end;
  }

  /**
   * Time passes and nothing can run: a blocked event loop, a paused process. What fell due meanwhile runs with the next `advance`.
   * @throws LockConfigurationError for a wrong duration.
   */
  stall(duration: Duration): void {
    this.time += parseDuration('stall', duration, { min: 0 });
  }

  /** A promise that resolves when this much time has passed: work that takes long. */
  sleep(duration: Duration): Promise<void> {
    const ms = parseDuration('sleep', duration, { min: 0 });
    return new Promise((resolve) => this.timer(ms, resolve));
  }

  /**
   * Lets time pass until the promise settles, and answers it. Time stops as soon as it has.
   * @param atMost the promise is taken for hanging when it needs longer; default 1 hour
   * @throws what the promise rejects with; Error when it does not settle.
   */
  async until<T>(promise: PromiseLike<T>, { atMost = '1h' }: { readonly atMost?: Duration } = {}): Promise<T> {
    const ms = parseDuration('atMost', atMost, { min: 1 });
    const end = this.time + ms;
    let open = true;
    const close = (): void => {
      open = false;
    };
    promise.then(close, close);
    await settled();
    while (open && (await this.step(end)));
    if (open && this.timers.size > 0) throw refusals.notSettled(ms);
    return promise;
  }

  /** Runs the next timer up to `end`, and settles. Answers whether there was one. */
  private async step(end: number): Promise<boolean> {
    let next: Timer | undefined;
    for (const timer of this.timers) if (!next || timer.at < next.at) next = timer;
    if (!next || next.at > end) return false;
    if (next.at > this.crowd.at) this.crowd = { at: next.at, size: 0 };
    if (++this.crowd.size > mostAtOnce) throw refusals.noTimePasses(next.at);
    this.time = Math.max(this.time, next.at);
    this.timers.delete(next);
    next.fn();
    await settled();
    return true;
  }
}
