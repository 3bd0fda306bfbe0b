/** How long (ms) an answer is used, at least and at most. */
const freshness = 1_000;
const longestFreshness = 4_000;
/** A question that takes long is asked for at most this part of the time. */
const share = 1 / 20;

export interface Answer<T> {
  readonly value: T;
  /** `performance.now()` at which it came. */
  readonly at: number;
}

/** One question for all who ask at a time: any number of open pages costs Redis one command a second. */
export class SharedQuestion<T> {
  private asking: Promise<Answer<T>> | undefined;
  /** The last outcome, an answer or an error. */
  private last: Promise<Answer<T>> | undefined;
  private until = 0;

  constructor(private readonly question: () => Promise<T>) {}

  get isFresh(): boolean {
    return this.asking !== undefined || performance.now() < this.until;
  }

  ask(): Promise<Answer<T>> {
    if (this.last && performance.now() < this.until) return this.last;
    this.asking ??= this.askNow().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private askNow(): Promise<Answer<T>> {
    const begin = performance.now();
    const outcome = this.question().then((value) => ({ value, at: performance.now() }));
    const remember = (): void => {
      this.last = outcome;
      const now = performance.now();
      this.until = now + Math.min(longestFreshness, Math.max(freshness, (now - begin) / share));
    };
    return outcome.finally(remember);
  }
}
