import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { LockBackend } from './lock-backend.js';

/**
 * The watchdog of one client: one timer for all holds. It signals losses at their time, confirms provisional grants,
 * renews leases in batches, and tries again well inside the lease when a renewal went unanswered.
 */
export class Renewal {
  private readonly holds = new Set<Hold>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private stopTimer: (() => void) | undefined;

  constructor(
    private readonly backend: LockBackend,
    private readonly clock: Clock,
  ) {}

  add(hold: Hold): void {
    this.holds.add(hold);
    this.wakeBy(hold.dueAt);
  }

  remove(hold: Hold): void {
    if (this.holds.delete(hold) && this.holds.size === 0) this.sleep();
  }

  /** Calls can succeed again: unanswered renewals need not wait for their time, and a server that lost everything is found out. */
  repeat(): void {
    void this.renew([...this.holds], this.clock.now());
  }

  private wakeBy(at: number): void {
    if (at >= this.wakeAt) return;
    this.stopTimer?.();
    this.wakeAt = at;
    this.stopTimer = this.clock.timer(Math.max(0, at - this.clock.now()), () => {
      this.sweep();
    });
  }

  private sleep(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.wakeAt = Number.POSITIVE_INFINITY;
  }

  private sweep(): void {
    this.sleep();
    const now = this.clock.now();
    const due: Hold[] = [];
    for (const hold of this.holds) {
      // Losses first: after a stalled event loop no renewal may cover up that the lease was over.
      if (hold.remaining() === 0) continue;
      // Whatever is due soon travels along: few commands instead of many.
      if (hold.renewAt <= now + hold.lease / 12) due.push(hold);
    }
    void this.renew(due, now);
    this.wakeForAll();
  }

  private async renew(holds: readonly Hold[], now: number): Promise<void> {
    if (holds.length === 0) return;
    for (const hold of holds) hold.renewAt = Number.POSITIVE_INFINITY;
    const replies = await this.backend.renew(holds.map((hold) => hold.renewal(now)));
    holds.forEach((hold, index) => {
      hold.answered(replies[index]!);
    });
    this.wakeForAll();
  }

  private wakeForAll(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.holds) next = Math.min(next, dueAt);
    if (next < Number.POSITIVE_INFINITY) this.wakeBy(next);
  }
}
