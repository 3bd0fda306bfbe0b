import { Turns } from '../diagnostics/turns.js';

/** How long (ms) an answer is used, at least; and how long because Redis was slow, at most. */
const freshness = 1_000;
const longestFreshness = 4_000;
/** A question that takes long is asked for at most this part of the time. Of the event loop it never takes more. */
export const share = 1 / 20;

export interface Outcome<T> {
  readonly value: T;
  /** `performance.now()` at which it came. */
  readonly at: number;
}

/** One question for all who ask at a time: any number of open pages costs Redis one command a second. */
export class SharedQuestion<T> {
  private asking: Promise<Outcome<T>> | undefined;
  /** The last outcome, an answer or an error. */
  private last: Promise<Outcome<T>> | undefined;
  private until = 0;

  constructor(
    private readonly question: (turns: Turns) => Promise<T>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get isFresh(): boolean {
    return this.asking !== undefined || this.now() < this.until;
  }

  ask(): Promise<Outcome<T>> {
    if (this.last && this.now() < this.until) return this.last;
    this.asking ??= this.askNow().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private askNow(): Promise<Outcome<T>> {
    const begin = this.now();
    const turns = new Turns(this.now);
    const outcome = this.question(turns).then((value) => ({ value, at: this.now() }));
    const remember = (): void => {
      this.last = outcome;
      const now = this.now();
      const slow = Math.min(longestFreshness, (now - begin) / share);
      this.until = now + Math.max(freshness, slow, turns.spent / share);
    };
    return outcome.finally(remember);
  }
}
