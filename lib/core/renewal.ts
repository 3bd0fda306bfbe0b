import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import { Line } from './line.js';
import type { LockBackend } from './lock-backend.js';

/** Holds in one renewal: some milliseconds of this process and of Redis. */
const batch = 250;

/**
 * The watchdog of one client: one timer for all holds. It signals losses at their time, confirms provisional grants,
 * renews leases in batches, and tries again well inside the lease when a renewal went unanswered.
 */
export class Renewal {
  /** All that are held and not lost. */
  readonly holds = new Line<Hold>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private stopTimer: (() => void) | undefined;

  constructor(
    private readonly backend: LockBackend,
    private readonly clock: Clock,
  ) {}

  add(hold: Hold): void {
    this.holds.push(hold);
    this.wakeBy(hold.dueAt);
  }

  remove(hold: Hold): void {
    if (this.holds.remove(hold) && this.holds.size === 0) this.sleep();
  }

  /** The hold is under other terms from now on. */
  rescheduled(hold: Hold): void {
    if (this.holds.has(hold)) this.wakeBy(hold.dueAt);
  }

  /** Calls can succeed again: unanswered renewals need not wait for their time, and a server that lost everything is found out. */
  repeat(): void {
    void this.renew([...this.holds]);
  }

  /** Whoever holds by this claim may have lost it: the backend is asked. */
  makeSure(claim: string): void {
    void this.renew([...this.holds].filter((hold) => hold.claim.claim === claim));
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
    void this.renew(due);
    this.wakeForAll();
  }

  private async renew(holds: readonly Hold[]): Promise<void> {
    if (holds.length === 0) return;
    for (const hold of holds) hold.renewAt = Number.POSITIVE_INFINITY;
    await Promise.all(this.byNode(holds).map((some) => this.renewAtOne(some)));
  }

  /** One batch after another: thousands of holds must not take the event loop for themselves, here or in Redis. */
  private async renewAtOne(holds: readonly Hold[]): Promise<void> {
    for (let first = 0; first < holds.length; first += batch) {
      // Some may be gone by the time of their batch.
      const some = holds.slice(first, first + batch).filter((hold) => this.holds.has(hold));
      const now = this.clock.now();
      const replies = await this.backend.renew(some.map((hold) => hold.renewal(now)));
      some.forEach((hold, index) => {
        hold.answered(replies[index]!);
      });
    }
    this.wakeForAll();
  }

  private byNode(holds: readonly Hold[]): ReadonlyArray<readonly Hold[]> {
    if (!this.backend.nodeOf) return [holds];
    const nodes = new Map<unknown, Hold[]>();
    for (const hold of holds) {
      const node = this.backend.nodeOf(hold.name);
      const some = nodes.get(node);
      if (some) some.push(hold);
      else nodes.set(node, [hold]);
    }
    return [...nodes.values()];
  }

  private wakeForAll(): void {
    let next = Number.POSITIVE_INFINITY;
    for (let hold = this.holds.first; hold; hold = hold.behind) next = Math.min(next, hold.dueAt);
    if (next < Number.POSITIVE_INFINITY) this.wakeBy(next);
  }
}
