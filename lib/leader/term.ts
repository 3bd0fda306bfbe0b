import { makeExact } from '../core/on-abort.js';
import { runInFlow } from '../core/lock-flow.js';
import type { LockHandle } from '../core/lock-handle.js';
import type { LockScope } from '../core/lock.js';
import { inRoot } from '../core/root-context.js';
import type { Leadership } from './leadership.js';

/** One leadership of this process: from the election until all its work has settled. */
export class Term {
  readonly leadership: Leadership;
  private readonly controller = new AbortController();
  private readonly works = new Set<Promise<unknown>>();
  private isOver = false;

  /**
   * @param resigned makes the reason of `resign()`
   * @param onEnd is called once, after the signal has aborted
   */
  constructor(
    private readonly lock: LockHandle,
    resigned: () => unknown,
    private readonly onEnd: (reason: unknown) => void,
  ) {
    const { signal } = this.controller;
    this.leadership = { signal, epoch: lock.fencingToken, resign: () => this.end(resigned()) };
    makeExact(signal, () => this.isLeading);
    lock.signal.addEventListener('abort', this.onLoss);
  }

  /** True while it is certain that this process leads. Reads the clock, and so sees a loss before a timer does. */
  get isLeading(): boolean {
    if (!this.isOver && !this.lock.isHeld) this.onLoss();
    return !this.isOver;
  }

  /** Steps down: first the flag, then the signal, then `onEnd`. The lock stays until the work has settled. */
  end(reason: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    inRoot(() => {
      this.controller.abort(reason);
      this.onEnd(reason);
    });
  }

  /**
   * Work of the leader inside the lock, until it leaves. Not with the lock's tracer: the work of days would be one trace.
   * @param isInside true when the caller is inside the lock already: a chain of timers must not become a chain of flows
   */
  enter(isInside = false): LockScope {
    const { lock, works } = this;
    let leave!: () => void;
    const left: Promise<unknown> = new Promise<void>((resolve) => (leave = resolve)).then(() => works.delete(left));
    works.add(left);
    return {
      lock,
      run: (work) => (isInside ? work() : runInFlow(lock, work)),
      leave: async () => leave(),
    };
  }

  /** Runs the function that leads. */
  async run(work: () => Promise<unknown>): Promise<void> {
    const scope = this.enter();
    try {
      await scope.run(work);
    } finally {
      await scope.leave('worked');
    }
  }

  /** Settles when all work has: the lock must not be released before. */
  async settled(): Promise<void> {
    while (this.works.size > 0) await Promise.all(this.works);
  }

  private readonly onLoss = (): void => {
    try {
      this.lock.assertHeld();
    } catch (error) {
      this.end(error);
    }
  };
}
