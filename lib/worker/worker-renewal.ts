import type { Clock } from '../core/clock.js';
import type { LockBackend } from '../core/lock-backend.js';
import { Watchdog } from '../core/watchdog.js';
import { LeaseMemory, type SignOfLife } from './lease-memory.js';
import type { SharedClock } from './shared-clock.js';
import { WorkerHold } from './worker-hold.js';
import type { WatchMessage, WorkerMessage } from './worker-messages.js';

/** The second watchdog, inside the worker thread. */
export class WorkerRenewal extends Watchdog<WorkerHold> {
  private readonly byKey = new Map<number, WorkerHold>();

  /** @param stallLimit ms without a sign of life after which it renews nothing more */
  constructor(
    backend: Pick<LockBackend, 'renew' | 'nodeOf'>,
    clock: Clock,
    private readonly time: SharedClock,
    private readonly mainThread: SignOfLife,
    private readonly stallLimit: number,
    private readonly post: (message: WorkerMessage) => void,
  ) {
    super(backend, clock);
  }

  received({ watch, ended }: WatchMessage): void {
    for (const key of ended) {
      const hold = this.byKey.get(key);
      if (hold) this.forget(hold);
    }
    if (!watch) return;
    const memory = new LeaseMemory(watch.memory);
    const hold = new WorkerHold(watch.key, watch.request, memory, this.time, this.clock.now(), (over) => {
      this.forget(over);
    });
    this.byKey.set(hold.key, hold);
    this.add(hold);
  }

  protected override async renew(due: readonly WorkerHold[], now: number): Promise<void> {
    const holds = due.filter((hold) => hold.mayRenew(now));
    if (holds.length === 0) return;
    if (this.time.now() - this.mainThread.at > this.stallLimit * 1000) {
      for (const hold of holds) hold.leftAlone();
      return;
    }
    const replies = await this.backend.renew(holds.map(({ request }) => request));
    const answeredAt = this.clock.now();
    const renewed = holds.map((hold, index) => {
      const reply = replies[index]!;
      const left = hold.answered(reply, answeredAt);
      this.rescheduled(hold);
      return { key: hold.key, outcome: typeof reply === 'string' ? reply : ('renewed' as const), left };
    });
    this.post({ kind: 'renewed', holds: renewed });
  }

  private forget(hold: WorkerHold): void {
    this.byKey.delete(hold.key);
    this.remove(hold);
  }
}
