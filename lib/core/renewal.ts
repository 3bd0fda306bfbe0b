import type { Clock } from './clock.js';
import { DueHeap } from './due-heap.js';
import type { Hold } from './hold.js';
import type { LockBackend } from './lock-backend.js';

/** Holds that are looked at, or renewed, at a time: some milliseconds of this process and of Redis. */
const batch = 250;

/**
 * The watchdog of one client: one timer for all holds. It signals losses at their time, confirms provisional grants,
 * renews leases in batches, and tries again well inside the lease when a renewal went unanswered.
 */
export class Renewal {
  /** All that are held and not lost. */
  readonly holds = new DueHeap<Hold>();
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
    if (this.holds.remove(hold) && this.holds.size === 0) this.sleep();
  }

  /** The hold is under other terms from now on. */
  rescheduled(hold: Hold): void {
    if (!this.holds.has(hold)) return;
    this.holds.moved(hold);
    this.wakeBy(hold.dueAt);
  }

  /** Calls can succeed again: unanswered renewals need not wait for their time, and a server that lost everything is found out. */
  repeat(): void {
    this.renewNow(this.holds);
  }

  /** Whoever holds by this claim may have lost it: the backend is asked. */
  makeSure(claim: string): void {
    this.renewNow([...this.holds].filter((hold) => hold.claim.claim === claim));
  }

  private renewNow(holds: Iterable<Hold>): void {
    const now = this.clock.now();
    for (const hold of holds) {
      hold.renewAt = now;
      this.holds.moved(hold);
    }
    this.sweep();
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

  /** Looks at whoever is due. Where they are many, some at a time: here and in Redis others have a turn between some and the next. */
  private sweep(): void {
    this.sleep();
    const now = this.clock.now();
    const due: Hold[] = [];
    for (let count = 0; count < batch; count++) {
      const hold = this.holds.first;
      if (!hold) break;
      // Losses first: after a stalled event loop no renewal may cover up that the lease was over. Who has lost it leaves the heap.
      if (hold.remaining() === 0) continue;
      if (hold.dueAt <= this.holds.firstTime) {
        // Whatever is due soon travels along: few commands instead of many.
        if (hold.renewAt > now + hold.lease / 12) break;
        hold.renewAt = Number.POSITIVE_INFINITY;
        due.push(hold);
      }
      this.holds.moved(hold);
    }
    if (due.length > 0) for (const holds of this.byNode(due)) void this.renew(holds, now);
    this.wakeBy(Math.max(this.holds.firstTime, now + 1));
  }

  private async renew(holds: readonly Hold[], now: number): Promise<void> {
    const replies = await this.backend.renew(holds.map((hold) => hold.renewal(now)));
    holds.forEach((hold, index) => {
      hold.answered(replies[index]!);
      this.rescheduled(hold);
    });
  }

  /** Where the backend has several: one that is silent must not keep the others waiting. */
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
}
