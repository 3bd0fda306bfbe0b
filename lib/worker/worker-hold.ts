import { certainUntil } from '../core/clock.js';
import type { RenewReply, RenewRequest } from '../core/lock-backend.js';
import type { Renewable } from '../core/watchdog.js';
import type { LeaseMemory } from './lease-memory.js';
import type { SharedClock } from './shared-clock.js';

/** Pause (ms) before an unanswered renewal is tried again, as for the main thread's watchdog. */
const longestRetryPause = 250;

/** A hold of the main thread, as its worker sees it: due when the main thread is late by a sixth of the lease. */
export class WorkerHold implements Renewable {
  heapIndex = -1;
  private notBefore: number;

  constructor(
    readonly key: number,
    readonly request: RenewRequest,
    readonly memory: LeaseMemory,
    private readonly time: SharedClock,
    now: number,
    private readonly ended: (hold: WorkerHold) => void,
  ) {
    // A pushed grant lasts for a part of the lease: it is confirmed in the middle of that.
    this.notBefore = now + Math.max(0, this.validUntil - now) / 2;
  }

  get name(): string {
    return this.request.name;
  }

  get lease(): number {
    return this.request.lease;
  }

  /** Both threads' renewals make the lease longer. */
  get validUntil(): number {
    return this.time.toLocal(Math.max(this.memory.told, this.memory.found.validUntil));
  }

  get renewAt(): number {
    return Math.max(this.notBefore, this.validUntil - certainUntil(0, this.lease / 2));
  }

  get dueAt(): number {
    return this.renewAt;
  }

  /** The main thread decides about losses: here a hold lasts until it ends there. */
  leaseLeft(): number {
    if (!this.memory.isOver) return Number.POSITIVE_INFINITY;
    this.ended(this);
    return 0;
  }

  renewalSent(now: number): void {
    this.notBefore = now + this.lease / 3;
  }

  /** False when a renewal must not be sent: the lease has run out or was lost, or the hold is over. */
  mayRenew(now: number): boolean {
    // A loss stays one, also where a failover brings the claim back: another caller may have held the lock.
    if (this.memory.found.what === 'lost') return false;
    return !this.memory.isOver && now < this.validUntil && now < this.time.toLocal(this.memory.endsAt);
  }

  /** The main thread gives no sign of life. */
  leftAlone(): void {
    this.memory.report('stalled', Math.max(this.memory.told, this.memory.found.validUntil));
  }

  /** @returns ms that were left of the lease */
  answered(reply: RenewReply, now: number): number {
    const left = Math.max(0, this.validUntil - now);
    if (reply === 'lost') this.memory.report('lost', 0);
    else if (reply === 'unanswered')
      this.notBefore = Math.min(this.notBefore, now + Math.min(this.lease / 12, longestRetryPause));
    else this.memory.report('renewed', Math.max(this.memory.found.validUntil, this.time.toShared(reply.validUntil)));
    return left;
  }
}
