import { channels } from '../diagnostics/channels.js';
import type { Clock } from './clock.js';
import { DueHeap } from './due-heap.js';
import type { Health } from './health.js';
import type { Hold } from './hold.js';
import type { LockBackend } from './lock-backend.js';
import type { Observation } from './observation.js';

/** Holds that are checked, or renewed, at a time: some milliseconds of this process and of the backend. */
const batch = 250;

/**
 * The watchdog of one client: one timer for all holds. It signals losses in time, confirms provisional grants, renews leases in batches,
 * and repeats a renewal without a reply well inside the lease.
 */
export class Renewal {
  /** All holds that are not lost. */
  readonly holds = new DueHeap<Hold>();
  private wakeAt = Number.POSITIVE_INFINITY;
  private stopTimer: (() => void) | undefined;
  private onEmpty: (() => void) | undefined;

  constructor(
    private readonly backend: LockBackend,
    private readonly clock: Clock,
    private readonly observation: Observation,
    private readonly health: Health,
  ) {}

  add(hold: Hold): void {
    this.holds.add(hold);
    this.wakeBy(hold.dueAt);
  }

  remove(hold: Hold): void {
    if (!this.holds.remove(hold) || this.holds.size > 0) return;
    this.sleep();
    this.onEmpty?.();
  }

  /** Settles when nothing is held any more, or after this many ms. */
  async empty(atMost: number): Promise<void> {
    if (this.holds.size === 0) return;
    await new Promise<void>((resolve) => {
      const stop = this.clock.timer(atMost, resolve);
      this.onEmpty = () => {
        stop();
        resolve();
      };
    });
    this.onEmpty = undefined;
  }

  /** The terms of the hold have changed. */
  rescheduled(hold: Hold): void {
    if (!this.holds.has(hold)) return;
    this.holds.moved(hold);
    this.wakeBy(hold.dueAt);
  }

  /** Calls can succeed again: renewals without a reply are repeated now, and the loss of a server's data is noticed. */
  repeat(): void {
    this.renewNow(this.holds);
  }

  /** The holder of this claim may have lost the lock: renews it now. */
  makeSure(claim: string): void {
    this.renewNow([...this.holds].filter((hold) => hold.claim.id === claim));
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

  /** Renews due holds in batches, so that other work runs between two batches, here and in the backend. */
  private sweep(): void {
    this.sleep();
    const now = this.clock.now();
    const due: Hold[] = [];
    for (let count = 0; count < batch; count++) {
      const hold = this.holds.first;
      if (!hold) break;
      // Losses first: after a stalled event loop a renewal must not hide that the lease was over. A lost hold leaves the heap.
      if (hold.remaining() === 0) continue;
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

  private async renew(holds: readonly Hold[], now: number): Promise<void> {
    const replies = await this.backend.renew(holds.map((hold) => hold.renewal(now)));
    if (replies.includes('unanswered')) this.health.doubt();
    else if (replies.some((reply) => typeof reply === 'object')) this.health.answered(this.clock.now());
    const isObserved = channels.renewed.hasSubscribers;
    holds.forEach((hold, index) => {
      const reply = replies[index]!;
      // As they were before the reply. Not `remaining()`: that may find the hold lost, and who watches must change nothing.
      const { isUsed, provisional } = hold;
      const left = isObserved ? Math.max(0, hold.validUntil - this.clock.now()) : 0;
      hold.answered(reply);
      this.rescheduled(hold);
      // The lease of a hold that has ended does not matter.
      if (isObserved && isUsed)
        this.observation.renewed(hold, typeof reply === 'string' ? reply : 'renewed', left, provisional);
    });
  }

  /** For backends with several nodes: a silent one must not delay the others. */
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
