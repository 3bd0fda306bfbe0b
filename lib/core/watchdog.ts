import type { Clock } from './clock.js';
import { DueHeap, type DueMember } from './due-heap.js';
import type { LockBackend } from './lock-backend.js';

/** What both threads tell each other of one hold, without a message: a blocked event loop reads none. */
export interface WorkerLease {
  /** `Clock.now()` up to which the worker's renewals make the lease certain; 0 when it has renewed nothing. */
  readonly validUntil: number;
  /** `lost`: the backend does not know the claim. `stalled`: this thread gave no sign of life, so the worker does not renew. */
  readonly finding: 'lost' | 'stalled' | undefined;
  /** What this thread knows (`Clock.now()`): the end of the certain lease, and of `maxHold`. */
  tell(validUntil: number, endsAt: number): void;
  /** The hold is over: nothing more is renewed for it. */
  end(): void;
}

/** A lease that a watchdog renews. */
export interface Renewable extends DueMember {
  readonly name: string;
  /** Milliseconds. */
  readonly lease: number;
  readonly renewAt: number;
  /** 0: it was lost or has ended, and has left the watchdog. */
  leaseLeft(): number;
  /** A renewal is sent now. */
  renewalSent(now: number): void;
}

/** Leases that are checked, or renewed, at a time: some milliseconds of this thread and of the backend. */
const batch = 250;

/** One timer for all leases. Renews those that are due in batches. */
export abstract class Watchdog<T extends Renewable> {
  readonly holds = new DueHeap<T>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private stopTimer: (() => void) | undefined;

  constructor(
    protected readonly backend: Pick<LockBackend, 'renew' | 'nodeOf'>,
    protected readonly clock: Clock,
  ) {}

  add(hold: T): void {
    this.holds.add(hold);
    this.wakeBy(hold.dueAt);
  }

  /** @returns true when it was the last one */
  remove(hold: T): boolean {
    if (!this.holds.remove(hold) || this.holds.size > 0) return false;
    this.sleep();
    return true;
  }

  /** The terms of the hold have changed. */
  rescheduled(hold: T): void {
    if (!this.holds.has(hold)) return;
    this.holds.moved(hold);
    this.wakeBy(hold.dueAt);
  }

  /** Sends one renewal for all of them, and applies the replies. */
  protected abstract renew(holds: readonly T[], now: number): Promise<void>;

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

  /** Renews due holds in batches, so that other work runs between two batches, here and in the backend. */
  protected sweep(): void {
    this.sleep();
    const now = this.clock.now();
    const due: T[] = [];
    for (let count = 0; count < batch; count++) {
      const hold = this.holds.first;
      if (!hold) break;
      // Losses first: after a stalled event loop a renewal must not hide that the lease was over. A lost hold leaves the heap.
      if (hold.leaseLeft() === 0) continue;
      if (hold.dueAt <= this.holds.firstTime) {
        // Renewals that are due soon travel along: few commands instead of many.
        if (hold.renewAt > now + hold.lease / 12) break;
        hold.renewalSent(now);
        due.push(hold);
      }
      this.holds.moved(hold);
    }
    if (due.length > 0) for (const holds of this.byNode(due)) void this.renew(holds, now);
    this.wakeBy(Math.max(this.holds.firstTime, now + 1));
  }

  /** For backends with several nodes: a silent one must not delay the others. */
  private byNode(holds: readonly T[]): ReadonlyArray<readonly T[]> {
    if (!this.backend.nodeOf) return [holds];
    const nodes = new Map<unknown, T[]>();
    for (const hold of holds) {
      const node = this.backend.nodeOf(hold.name);
      const some = nodes.get(node);
      if (some) some.push(hold);
      else nodes.set(node, [hold]);
    }
    return [...nodes.values()];
  }
}
