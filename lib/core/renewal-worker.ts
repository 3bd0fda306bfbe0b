import type { Hold } from './hold.js';
import type { ResolvedLockOptions } from './options.js';
import { inRoot } from './root-context.js';

/**
 * A second watchdog in a thread of its own, for holds with `renewFrom: 'worker'`. It renews what this thread's watchdog has not renewed in
 * time, because the event loop is blocked.
 */
export interface RenewalWorker {
  /** Watches over the hold until its `WorkerLease.end`. */
  watch(hold: Hold): void;
  /** Ends the thread; settles when it is gone. */
  close(): Promise<void>;
}

export interface RenewalWorkerEvents {
  /** The worker has a reply to a renewal, with `left` ms of the lease. It comes late when the event loop was blocked. */
  renewed(hold: Hold, outcome: 'renewed' | 'lost' | 'unanswered', left: number): void;
}

/** Settles when the worker runs. Rejects with a LockConfigurationError where there can be none. */
export type StartRenewalWorker = (events: RenewalWorkerEvents) => Promise<RenewalWorker>;

/** The worker of one client. It starts at the start of an application that is known to need it, else before the first lock that does. */
export class OptionalWorker {
  private starting: Promise<void> | undefined;
  private running: RenewalWorker | undefined;
  private closed = false;

  constructor(
    /** Left out: `renewFrom` has no effect, as where time is virtual. */
    private readonly begin: StartRenewalWorker | undefined,
    private readonly events: RenewalWorkerEvents,
  ) {}

  /** True when `start` must settle before a lock with these options is taken. */
  isMissingFor(options: ResolvedLockOptions): boolean {
    return options.renewFrom === 'worker' && options.renew && !this.running && !this.closed && this.begin !== undefined;
  }

  /** @throws LockConfigurationError where there can be none */
  start(): Promise<void> {
    this.starting ??= inRoot(() => this.run()).catch((error: unknown) => {
      // The next lock tries again.
      this.starting = undefined;
      throw error;
    });
    return this.starting;
  }

  /** @param hold with `renewFrom: 'worker'` */
  watch(hold: Hold): void {
    if (hold.options.renew) this.running?.watch(hold);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.starting?.catch(() => undefined);
    await this.running?.close();
  }

  private async run(): Promise<void> {
    this.running = await this.begin!(this.events);
  }
}
