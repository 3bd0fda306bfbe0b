import type { Clock } from '../../lib/core/clock.js';

/** The time of one process of a test. A stopped process runs its due timers when it goes on; a killed one runs none. */
export class ProcessClock implements Clock {
  /** Milliseconds in which it was stopped. */
  private missed = 0;
  private stoppedAt: number | undefined;
  private dead = false;
  private readonly timers = new Set<() => void>();
  private due: Array<() => void> = [];

  constructor(private readonly world: Clock) {}

  now(): number {
    return this.world.now();
  }

  timer(delay: number, fn: () => void): () => void {
    if (this.dead) return () => undefined;
    let open = true;
    const cancel = (): void => {
      open = false;
      this.timers.delete(cancel);
      stop();
    };
    const stop = this.world.timer(delay, () =>
      this.whenRunning(() => {
        if (!open) return;
        this.timers.delete(cancel);
        fn();
      }),
    );
    this.timers.add(cancel);
    return cancel;
  }

  /** Runs it at once; in a stopped process, when that goes on. */
  whenRunning(fn: () => void): void {
    if (this.dead) return;
    if (this.stoppedAt === undefined) fn();
    else this.due.push(fn);
  }

  get isDead(): boolean {
    return this.dead;
  }

  get isStopped(): boolean {
    return this.stoppedAt !== undefined;
  }

  /** Since when it is stopped, or dead; infinite while it runs. */
  get silentSince(): number {
    return this.stoppedAt ?? Number.POSITIVE_INFINITY;
  }

  /** Milliseconds in which it ran, since the world began. */
  get lived(): number {
    return (this.stoppedAt ?? this.now()) - this.missed;
  }

  stop(): void {
    this.stoppedAt ??= this.now();
  }

  resume(): void {
    if (this.stoppedAt === undefined || this.dead) return;
    this.missed += this.now() - this.stoppedAt;
    this.stoppedAt = undefined;
    const due = this.due.splice(0);
    for (const fn of due) fn();
  }

  kill(): void {
    this.stop();
    this.dead = true;
    this.due = [];
    for (const cancel of this.timers) cancel();
  }
}
