import { settled } from '../backends/memory/index.js';
import type { Clock } from '../core/clock.js';
import { type Duration, parseDuration } from '../core/duration.js';
import { clearTimeout, setTimeout, warn } from '../diagnostics/platform.js';
import { testingLines as lines, testingRefusals as refusals } from './testing.messages.js';

interface Timer {
  readonly at: number;
  readonly fn: () => void;
  readonly isBackground: boolean;
}

/** Timers that may run at one instant. More means that a timer arms itself again and again. */
const mostAtOnce = 1000;
/** Real milliseconds without activity, after which a test is considered stuck. */
const patience = 2000;

/**
 * Time that passes only when a test lets it. Between two timers everything that follows from the first one settles: answers of memory
 * backends, and promises of the code under test. What that code waits for outside (files, sockets, real timers) is not waited for.
 */
export class VirtualClock implements Clock {
  private time = 0;
  private readonly timers = new Set<Timer>();
  /** How many timers ran at the present instant. */
  private crowd = { at: -1, size: 0 };
  /** Called when a timer is set. */
  private readonly onTimer = new Set<() => void>();
  private warned = false;

  now(): number {
    return this.time;
  }

  timer(delay: number, fn: () => void, isBackground = false): () => void {
    // As with Node's timers, no delay is shorter than a millisecond, so that code which halves its delay again and again comes to an end.
    const timer = { at: this.time + (delay > 0 ? Math.max(1, delay) : 0), fn, isBackground };
    this.timers.add(timer);
    for (const tell of this.onTimer) tell();
    return () => {
      this.timers.delete(timer);
    };
  }

  /** Timers that are set and have neither run nor been stopped, without those that keep no process running. */
  get pending(): number {
    return [...this.timers].filter(({ isBackground }) => !isBackground).length;
  }

  /**
   * Lets time pass: timers run at their time and in order.
   * @param duration 0 runs the timers that are due, and settles.
   * @throws LockConfigurationError for a wrong duration.
   */
  async advance(duration: Duration): Promise<void> {
    const end = this.time + parseDuration('advance', duration, { min: 0 });
    await this.settle();
    while (await this.step(end));
    this.time = end;
  }

  /**
   * Time passes and nothing can run: a blocked event loop, a paused process. Timers that fall due in that time run with the next `advance`.
   * @throws LockConfigurationError for a wrong duration.
   */
  stall(duration: Duration): void {
    this.time += parseDuration('stall', duration, { min: 0 });
  }

  /** A promise that resolves when this much time has passed: work that takes long. */
  sleep(duration: Duration): Promise<void> {
    const ms = parseDuration('sleep', duration, { min: 0 });
    return this.watched('a sleep', new Promise((resolve) => this.timer(ms, resolve)));
  }

  /**
   * Warns when virtual time stands still for 2 s of real time while this is waited for: `until` was forgotten.
   * @internal
   */
  watched<T>(what: string, waiting: Promise<T>): Promise<T> {
    const { time } = this;
    const timer = setTimeout(() => {
      if (this.warned || this.time !== time) return;
      this.warned = true;
      warn(lines.standstill(what, patience), 'LOCK_TIME_STANDS_STILL');
    }, patience).unref();
    const stop = () => clearTimeout(timer);
    waiting.then(stop, stop);
    return waiting;
  }

  /**
   * Lets time pass until the promise settles, and returns its result. Time stops as soon as it has. While nothing waits for virtual time, up to 2 s of
   * real time may go by until something does: a request on its way, a file that is read.
   * @param atMost the promise is taken for hanging when it needs longer; default 1 hour
   * @throws what the promise rejects with; Error when it does not settle.
   */
  async until<T>(
    promise: PromiseLike<T>,
    { atMost = '1h' }: { readonly atMost?: Duration | undefined } = {},
  ): Promise<T> {
    const ms = parseDuration('atMost', atMost, { min: 1 });
    const end = this.time + ms;
    let open = true;
    const close = (): void => {
      open = false;
    };
    promise.then(close, close);
    await this.settle();
    while (open) {
      if (await this.step(end)) continue;
      if (this.timers.size > 0) throw refusals.notSettled(ms);
      if (!(await this.somethingHappens(promise))) throw refusals.nothingPending(patience);
      await this.settle();
    }
    return promise;
  }

  /** @internal Waits for everything that follows from the last timer. */
  settle(): Promise<void> {
    return settled();
  }

  /** Waits in real time until a timer is set or the promise settles. Returns whether that happened. */
  private somethingHappens(promise: PromiseLike<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const answer = (happened: boolean) => () => {
        clearTimeout(giveUp);
        this.onTimer.delete(yes);
        resolve(happened);
      };
      const yes = answer(true);
      const giveUp = setTimeout(answer(false), patience);
      this.onTimer.add(yes);
      promise.then(yes, yes);
    });
  }

  /** Runs the next timer up to `end`, and settles. Returns whether there was one. */
  private async step(end: number): Promise<boolean> {
    let next: Timer | undefined;
    for (const timer of this.timers) if (!next || timer.at < next.at) next = timer;
    if (!next || next.at > end) return false;
    if (next.at > this.crowd.at) this.crowd = { at: next.at, size: 0 };
    if (++this.crowd.size > mostAtOnce) throw refusals.noTimePasses(next.at);
    this.time = Math.max(this.time, next.at);
    this.timers.delete(next);
    next.fn();
    await this.settle();
    return true;
  }
}
