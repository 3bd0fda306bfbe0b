import type { Hold } from '../core/hold.js';
import type { WorkerLease } from '../core/watchdog.js';
import { LeaseMemory } from './lease-memory.js';
import type { SharedClock } from './shared-clock.js';

/** A hold of this thread that its worker watches over. */
export class WatchedLease implements WorkerLease {
  readonly memory = new LeaseMemory();

  constructor(
    readonly key: number,
    readonly hold: Hold,
    private readonly time: SharedClock,
    private readonly ended: (lease: WatchedLease) => void,
  ) {}

  get validUntil(): number {
    const { validUntil } = this.memory.found;
    return validUntil === 0 ? 0 : this.time.toLocal(validUntil);
  }

  get finding(): WorkerLease['finding'] {
    const { what, validUntil } = this.memory.found;
    if (what === 'lost') return what;
    // This thread may have renewed the lease since.
    return what === 'stalled' && validUntil >= this.memory.told ? what : undefined;
  }

  tell(validUntil: number, endsAt: number): void {
    this.memory.tell(this.time.toShared(validUntil), this.time.toShared(endsAt));
  }

  end(): void {
    this.memory.end();
    this.ended(this);
  }
}
