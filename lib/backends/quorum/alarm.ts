/** One timer with one purpose at a time. */
export class Alarm<Purpose extends string> {
  private purpose: Purpose | undefined;
  private stopTimer: (() => void) | undefined;

  constructor(private readonly timer: (delay: number, fn: () => void) => () => void) {}

  /** Calls `fn` after `delay` ms, unless it is set for the same purpose already. Cancels an earlier purpose. */
  set(purpose: Purpose, delay: number, fn: () => void): void {
    if (this.purpose === purpose) return;
    this.stop();
    this.purpose = purpose;
    this.stopTimer = this.timer(delay, () => {
      this.purpose = undefined;
      fn();
    });
  }

  stop(): void {
    this.purpose = undefined;
    this.stopTimer?.();
  }
}
