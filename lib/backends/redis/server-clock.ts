/**
 * What this process knows of the server's clock: for a server time that it has seen, bounds of the local time.
 *
 * A reply carries the server's time, read after the request was sent. So the local time at that server time was not earlier
 * than the sending: `sentAt - serverTime` bounds the difference of the clocks from below. Nobody's clock is set or trusted.
 */
export class ServerClock {
  /** local ms minus server ms, at the least. */
  private difference: number | undefined;
  private observedAt = 0;

  /** @param serverTime µs since 1970, from a reply to what was sent at `sentAt` (local ms). */
  observe(serverTime: number, sentAt: number): void {
    this.difference = sentAt - serverTime / 1000;
    this.observedAt = sentAt;
  }

  /** Another server may answer from now on. */
  forget(): void {
    this.difference = undefined;
  }

  /** The server's time (µs) at local time `at`, at the latest. */
  latest(at: number): number | undefined {
    return this.difference === undefined ? undefined : Math.ceil((at - this.difference) * 1000);
  }

  /** The local time at which the server's clock showed `serverTime` (µs), at the earliest. */
  earliest(serverTime: number): number | undefined {
    return this.difference === undefined ? undefined : serverTime / 1000 + this.difference;
  }

  /** Milliseconds since the bound was taken: two clocks drift apart, and clocks are set. */
  age(now: number): number {
    return now - this.observedAt;
  }
}
