import { setImmediate } from './platform.js';

/** Milliseconds of work after which other work gets a turn. */
const turn = 2;
/** Steps between two looks at the clock. */
const stride = 64;

/** Long work in short pieces: other work of the process gets its turn between two of them. */
export class Turns {
  /** How many steps were made. */
  steps = 0;
  /** Since when it works. Undefined while it waits for something else. */
  private begun: number | undefined;
  private before = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Milliseconds that the work has taken, without the turns of others. */
  get spent(): number {
    return this.before + (this.begun === undefined ? 0 : this.now() - this.begun);
  }

  /** The work begins, or goes on after a wait for something else. */
  resume(): void {
    this.begun ??= this.now();
  }

  /** Before a wait for something else: that is no work. */
  interrupt(): void {
    this.before = this.spent;
    this.begun = undefined;
  }

  /** Behind each step. Undefined when the work may go on at once. @param weight how many small steps it was like */
  rest(weight = 1): Promise<void> | undefined {
    const last = Math.floor(this.steps / stride);
    this.steps += weight;
    if (Math.floor(this.steps / stride) === last) return undefined;
    return this.now() - (this.begun ??= this.now()) >= turn ? this.pause() : undefined;
  }

  /** @param weight of each item */
  async each<T>(items: Iterable<T>, step: (item: T) => void, weight = 1): Promise<void> {
    this.resume();
    for (const item of items) {
      step(item);
      const pause = this.rest(weight);
      if (pause) await pause;
    }
  }

  private async pause(): Promise<void> {
    this.interrupt();
    await new Promise((resolve) => setImmediate(resolve));
    this.resume();
  }
}
