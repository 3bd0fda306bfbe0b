import { setTimeout as sleep } from 'node:timers/promises';
import { Turns } from '../diagnostics/turns.js';

/** Work that waits for its turn. Of more the caller hears at once that it is too much. */
const mostWaiting = 40;

/** One piece of work after the other, and a pause behind each: all of them together take no more than their part of the event loop. */
export class InTurn {
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  /** @param share part of the time, such as 1/20 */
  constructor(
    private readonly share: number,
    private readonly now: () => number = () => performance.now(),
    private readonly rest = (ms: number): Promise<unknown> => sleep(ms, undefined, { ref: false }),
  ) {}

  /** Undefined when too many wait. @param work counts what it takes of the event loop */
  run<T>(work: (turns: Turns) => Promise<T>): Promise<T> | undefined {
    if (this.waiting >= mostWaiting) return undefined;
    this.waiting++;
    const turns = new Turns(this.now);
    const done = this.last.then(() => {
      this.waiting--;
      return work(turns);
    });
    this.last = done.catch(() => undefined).then(() => this.rest(turns.spent / this.share - turns.spent));
    return done;
  }
}
