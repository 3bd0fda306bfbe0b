/**
 * Watches the replies on one connection: when a command has no reply in time, the connection is useless (half-open, or a server that
 * hangs). One timer for all commands, and none while no command is under way for long.
 */
export class ReplyWatch {
  /** Sending times of the commands under way, from `first` to before `next`: Redis replies in order. The slots are reused. */
  private readonly sent: number[] = [];
  private first = 0;
  private next = 0;
  private watching = false;
  /** Commands that have ended, and how many had when the oldest one got more time after a stall. */
  private ended = 0;
  private spared = -1;

  /** @param timeout longest time to wait for a reply, in ms */
  constructor(
    private readonly timeout: number,
    private readonly onSilence: () => void,
  ) {}

  /** A command is sent. */
  begin(): void {
    this.sent[this.next++] = performance.now();
    this.watch(this.timeout);
  }

  /** The oldest command has its reply, or has failed. */
  end(): void {
    this.ended++;
    this.first++;
    if (this.first === this.next) this.first = this.next = 0;
    else if (this.first > 1000) {
      this.sent.copyWithin(0, this.first, this.next);
      this.next -= this.first;
      this.first = 0;
    }
  }

  /** When no command is under way, the timer ends by itself. */
  private watch(delay: number): void {
    if (this.watching) return;
    this.watching = true;
    const due = performance.now() + delay;
    setTimeout(() => {
      // After a stall of the event loop timers fire before replies that have arrived are read: read first, then judge.
      setImmediate(() => {
        this.watching = false;
        if (this.first === this.next) return;
        const oldest = this.sent[this.first]!;
        const now = performance.now();
        const rest = oldest + this.timeout - now;
        if (rest > 0) return this.watch(rest);
        if (now - due > this.timeout / 4 && this.spared !== this.ended) {
          // The event loop stood still and may have sent the command only now: it gets its whole time again.
          this.spared = this.ended;
          return this.watch(this.timeout);
        }
        this.onSilence();
      });
    }, delay).unref();
  }
}
