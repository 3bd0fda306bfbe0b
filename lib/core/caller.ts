import type { Clock } from './clock.js';
import type { LineMember } from './line.js';
import type { LockHandle } from './lock-handle.js';
import type { ResolvedLockOptions } from './options.js';

/** The options of a call; of one step of a call for several names there is more to say. */
export interface CallOptions extends ResolvedLockOptions {
  /** `Clock.now()` from which `wait` counts. Left out: now. */
  readonly calledAt?: number;
  /** With `wait` 0: for how long (ms) the one try may ride out a backend that is away. Left out: not at all. */
  readonly tryFor?: number;
}

/** Somebody who called for a lock and stands in a local queue. */
export class Caller implements LineMember<Caller> {
  before: Caller | undefined;
  behind: Caller | undefined;
  readonly calledAt: number;
  /** Whether it counts as waiting: it stands behind somebody. */
  counted = false;
  private stopTimer: (() => void) | undefined;
  private onAbort: (() => void) | undefined;
  private watched = false;

  constructor(
    readonly options: CallOptions,
    private readonly clock: Clock,
    readonly settle: (lock: LockHandle) => void,
    readonly reject: (reason: unknown) => void,
  ) {
    this.calledAt = options.calledAt ?? clock.now();
  }

  get giveUpAt(): number {
    const { wait, tryFor = wait } = this.options;
    return this.calledAt + tryFor;
  }

  /** Begins to look at the time and at the caller's signal; once is enough. A lock that is free costs no timer. */
  watch(tooLate: () => void, aborted: (reason: unknown) => void): void {
    if (this.watched) return;
    this.watched = true;
    const { wait, signal } = this.options;
    // One try settles with its answer.
    if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
      this.stopTimer = this.clock.timer(Math.max(0, this.giveUpAt - this.clock.now()), tooLate);
    }
    if (!signal) return;
    this.onAbort = () => {
      aborted(signal.reason);
    };
    signal.addEventListener('abort', this.onAbort, { once: true });
  }

  /** Ends timer and listener. */
  stop(): void {
    this.stopTimer?.();
    if (this.onAbort) this.options.signal?.removeEventListener('abort', this.onAbort);
  }
}
