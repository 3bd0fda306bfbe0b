/**
 * Watches over the answers on one connection: a command that is not answered in time means that the connection is worth nothing
 * (half-open, or a server that hangs). One timer for all commands, and none while nothing is under way for long.
 */
export class AnswerWatch {
  /** Sending times of the commands under way, oldest at `first`: Redis answers in order. */
  private sent: number[] = [];
  private first = 0;
  private watching = false;
  /** Commands that have ended, and how many had when the oldest one got more time after a stall. */
  private ended = 0;
  private spared = -1;

  /** @param timeout longest time for an answer, in ms */
  constructor(
    private readonly timeout: number,
    private readonly onSilence: () => void,
  ) {}

  /** A command is sent. */
  begin(): void {
    this.sent.push(performance.now());
    this.watch(this.timeout);
  }

  /** The oldest command was answered, or has failed. */
  end(): void {
    this.ended++;
    this.first++;
    if (this.first === this.sent.length) {
      this.sent = [];
      this.first = 0;
    } else if (this.first > 1000) {
      this.sent = this.sent.slice(this.first);
      this.first = 0;
    }
  }

  /** Left running when nothing is under way, the timer ends by itself. */
  private watch(delay: number): void {
    if (this.watching) return;
    this.watching = true;
    const due = performance.now() + delay;
    setTimeout(() => {
      // A stalled event loop fires timers before it reads answers that are there already: read first, judge then.
      setImmediate(() => {
        this.watching = false;
        const oldest = this.sent[this.first];
        if (oldest === undefined) return;
        const now = performance.now();
        const rest = oldest + this.timeout - now;
        if (rest > 0) return this.watch(rest);
        if (now - due > this.timeout / 4 && this.spared !== this.ended) {
          // The loop stood still, and may have sent the command only now: it gets its whole time once more.
          this.spared = this.ended;
          return this.watch(this.timeout);
        }
        this.onSilence();
      });
    }, delay).unref();
  }
}
