import { channels } from '../diagnostics/channels.js';
import { type Clock, pauseFor } from './clock.js';
import type { ForgottenHandles } from './forgotten-handles.js';
import type { Hold } from './hold.js';
import type { LockBackend } from './lock-backend.js';
import type { Observation } from './observation.js';
import type { OptionalWorker } from './renewal-worker.js';
import { Watchdog } from './watchdog.js';

/**
 * The watchdog of one client, for all holds that are not lost. It signals losses in time, confirms provisional grants, renews leases in
 * batches, and repeats a renewal without a reply well inside the lease.
 */
export class Renewal extends Watchdog<Hold> {
  private onEmpty: (() => void) | undefined;

  constructor(
    backend: LockBackend,
    clock: Clock,
    private readonly observation: Observation,
    private readonly worker: OptionalWorker,
    private readonly handles: ForgottenHandles,
  ) {
    super(backend, clock);
  }

  override add(hold: Hold): void {
    super.add(hold);
    if (hold.options.renewFrom === 'worker') this.worker.watch(hold);
  }

  override remove(hold: Hold): boolean {
    hold.unwatched();
    const isEmpty = super.remove(hold);
    if (isEmpty) this.onEmpty?.();
    return isEmpty;
  }

  /** Settles when nothing is held any more, or after this many ms. */
  async empty(atMost: number): Promise<void> {
    if (this.holds.size === 0) return;
    await pauseFor(this.clock, atMost, (end) => (this.onEmpty = end));
    this.onEmpty = undefined;
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

  protected override async renew(holds: readonly Hold[], now: number): Promise<void> {
    for (const hold of holds) this.handles.watch(hold);
    const replies = await this.backend.renew(holds.map((hold) => hold.renewal(now)));
    const { observation } = this;
    if (replies.includes('unanswered')) observation.isDoubted = true;
    else if (replies.some((reply) => typeof reply === 'object')) observation.answered(this.clock.now());
    const isObserved = channels.renewed.hasSubscribers;
    holds.forEach((hold, index) => {
      const reply = replies[index]!;
      // The state before the reply. Not by `leaseLeft()`, which may end the hold: subscribers must change nothing.
      const { isUsed, provisional } = hold;
      const left = isObserved ? Math.max(0, hold.validUntil - this.clock.now()) : 0;
      hold.answered(reply);
      this.rescheduled(hold);
      const outcome = typeof reply === 'string' ? reply : 'renewed';
      if (isObserved) this.observation.renewed(hold, outcome, left, { isUsed, provisional });
    });
  }
}
