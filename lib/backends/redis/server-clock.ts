/**
 * What this process knows of the server's clock: bounds of the local time for a server time that it has seen.
 *
 * A reply contains the server's time, read after the request was sent. So the local time at that server time was not earlier than the
 * sending:
 * `sentAt - serverTime` is a lower bound of the difference between the clocks. No clock is set or trusted.
 */
export class ServerClock {
  /** Local ms minus server ms, at least. */
  private difference: number | undefined;
  private observedAt = 0;

  /** @param serverTime µs since 1970, from the reply to a request that was sent at `sentAt` (local ms). */
  observe(serverTime: number, sentAt: number): void {
    this.difference = sentAt - serverTime / 1000;
    this.observedAt = sentAt;
  }

  /** The next replies may come from another server. */
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

  /** The age of the bound in milliseconds: clocks drift apart, and clocks are set. */
  age(now: number): number {
    return now - this.observedAt;
  }
}
