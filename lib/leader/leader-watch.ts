import { type Clock, pauseFor } from '../core/clock.js';
import type { LockHolderInfo } from '../core/lock-info.js';
import type { SeenHolder } from '../operators/lock-views.js';
import { onAbort } from '../core/on-abort.js';

/** What it needs from its election. */
export interface LeaderWatchHost {
  readonly clock: Clock;
  /** Those that learn of each turn, and of the end. */
  readonly watches: Set<LeaderWatch>;
  /** Counts what has changed in this process. */
  readonly turns: number;
  /** The application closes. */
  readonly isClosed: boolean;
  holder(): Promise<SeenHolder | undefined>;
}

type Leader = LockHolderInfo | undefined;

/**
 * The changes of an election's leader. It asks, and is known to the election and to the signal, only while a caller waits for the next one: an
 * iteration that is left without `return` leaves nothing behind.
 */
export class LeaderWatch implements AsyncIterableIterator<Leader> {
  private isOver = false;
  /** The claim of the leader that was returned last; empty for none. */
  private told: string | undefined;
  /** `Clock.now()` from which it asks again. */
  private askAt = Number.NEGATIVE_INFINITY;
  /** The turns that were known when it asked last. */
  private turns = 0;
  private wake: (() => void) | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly host: LeaderWatchHost,
    private readonly poll: number,
    private readonly signal: AbortSignal | undefined,
  ) {}

  next(): Promise<IteratorResult<Leader, undefined>> {
    const next = this.last.then(() => this.awaited());
    this.last = next;
    return next;
  }

  async return(): Promise<IteratorResult<Leader, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Something has changed in this process. */
  turned(): void {
    this.wake?.();
  }

  readonly end = (): void => {
    this.isOver = true;
    this.wake?.();
  };

  private async awaited(): Promise<IteratorResult<Leader, undefined>> {
    const { host, signal } = this;
    if (host.isClosed || signal?.aborted) this.end();
    host.watches.add(this);
    const stopListening = signal && onAbort(signal, this.end);
    try {
      return await this.change();
    } finally {
      host.watches.delete(this);
      stopListening?.();
    }
  }

  private async change(): Promise<IteratorResult<Leader, undefined>> {
    const { clock } = this.host;
    while (!this.isOver) {
      if (this.turns !== this.host.turns) this.askAt = Number.NEGATIVE_INFINITY;
      const rest = this.askAt - clock.now();
      if (rest > 0) {
        await pauseFor(clock, rest, (end) => (this.wake = end));
        continue;
      }
      this.askAt = clock.now() + this.poll;
      this.turns = this.host.turns;
      const reply = await this.read();
      if (!reply || this.isOver) continue;
      const { claim = '', holder } = reply.seen ?? {};
      if (claim === this.told) continue;
      this.told = claim;
      return { done: false, value: holder };
    }
    return { done: true, value: undefined };
  }

  /** Undefined without a reply, which says nothing of the leader, and when the iteration ends before. */
  private async read(): Promise<{ readonly seen: SeenHolder | undefined } | undefined> {
    return new Promise((resolve) => {
      this.wake = () => {
        if (this.isOver) resolve(undefined);
      };
      this.host.holder().then(
        (seen) => resolve({ seen }),
        () => resolve(undefined),
      );
    });
  }
}
