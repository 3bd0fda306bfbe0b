import type { Clock } from './clock.js';
import { DueHeap } from './due-heap.js';
import type { Hold } from './hold.js';
import type { LockBackend } from './lock-backend.js';

/** Holds that are looked at, or renewed, at a time: some milliseconds of this process and of Redis. */
const batch = 250;

/** Holds that are to be renewed at one node, one batch after another. */
class Lane {
  readonly due = new Set<Hold>();
  busy = false;

  constructor(readonly node: unknown) {}
}

/**
 * The watchdog of one client: one timer for all holds. It signals losses at their time, confirms provisional grants,
 * renews leases in batches, and tries again well inside the lease when a renewal went unanswered.
 */
export class Renewal {
  /** All that are held and not lost. */
  readonly holds = new DueHeap<Hold>();
  /** By node of the backend (one where it has none), as long as there is something to renew. */
  private readonly lanes = new Map<unknown, Lane>();
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

  /** Looks at whoever is due. Where they are many, the event loop gets a turn between some and the next. */
  private sweep(): void {
    this.sleep();
    const now = this.clock.now();
    for (let count = 0; count < batch; count++) {
      const hold = this.holds.first;
      if (!hold) break;
      // Losses first: after a stalled event loop no renewal may cover up that the lease was over. Who has lost it leaves the heap.
      if (hold.remaining() === 0) continue;
      if (hold.dueAt <= this.holds.firstTime) {
        // Whatever is due soon travels along: few commands instead of many.
        if (hold.renewAt > now + hold.lease / 12) break;
        hold.renewAt = Number.POSITIVE_INFINITY;
        this.laneOf(hold).due.add(hold);
      }
      this.holds.moved(hold);
    }
    for (const lane of this.lanes.values()) void this.renew(lane);
    this.wakeBy(Math.max(this.holds.firstTime, now + 1));
  }

  /** One batch after another: thousands of holds must not take the event loop for themselves, here or in Redis. */
  private async renew(lane: Lane): Promise<void> {
    if (lane.busy) return;
    lane.busy = true;
    for (let some = this.take(lane); some.length > 0; some = this.take(lane)) {
      const now = this.clock.now();
      const replies = await this.backend.renew(some.map((hold) => hold.renewal(now)));
      some.forEach((hold, index) => {
        hold.answered(replies[index]!);
        this.rescheduled(hold);
      });
    }
    // Not kept: nodes come and go.
    this.lanes.delete(lane.node);
  }

  private take(lane: Lane): Hold[] {
    const some: Hold[] = [];
    for (const hold of lane.due) {
      lane.due.delete(hold);
      // It may be gone by now, or find out that it is.
      if (this.holds.has(hold) && hold.remaining() > 0 && some.push(hold) === batch) break;
    }
    return some;
  }

  private laneOf(hold: Hold): Lane {
    const node = this.backend.nodeOf?.(hold.name);
    let lane = this.lanes.get(node);
    if (!lane) this.lanes.set(node, (lane = new Lane(node)));
    return lane;
  }
}
