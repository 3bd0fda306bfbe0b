import { isReachable } from '../core/lock-backend.js';
import type { LockClient } from '../core/lock-client.js';
import type { LockHolderInfo } from '../core/lock-info.js';
import { onAbort } from '../core/on-abort.js';
import type { ResolvedLockOptions } from '../core/options.js';
import { refusals } from '../core/refusals.js';
import { inRoot } from '../core/root-context.js';
import type { LockViews } from './lock-views.js';
import { viewRefusals } from './operators.messages.js';

/** Pause (ms) between two looks at a lock: doubled after each of them, and short again for a new caller. */
const shortestPause = 50;
const longestPause = 1_000;

interface FreeCaller {
  /** True when it takes the first answer. */
  readonly isImpatient: boolean;
  /** Ends the call: without an error, the lock was free. Only the first end counts. */
  readonly end: (failure?: { readonly reason: Error }) => void;
}

/**
 * Callers that wait until a lock has no holder. They take nothing and stand in no queue: each name is looked at again and again, once for
 * all its callers.
 */
export class FreeWaits {
  private readonly watches = new Map<string, FreeWatch>();

  /** Hidden from loggers: it has the id of the client. */
  readonly #client: LockClient;

  constructor(
    client: LockClient,
    private readonly views: LockViews,
  ) {
    this.#client = client;
  }

  /** Resolves when no caller holds the lock. Rejects with a LockError, or with the reason of the signal. */
  async wait(name: string, { wait, signal }: Pick<ResolvedLockOptions, 'wait' | 'signal'>): Promise<void> {
    signal?.throwIfAborted();
    if (this.#client.current(name)) throw viewRefusals.waitsForItself(name);
    this.#client.assertOpen(name);
    return new Promise((resolve, reject) => {
      const watch = this.watchOf(name);
      let stopTimer: (() => void) | undefined;
      const caller: FreeCaller = {
        isImpatient: wait === 0,
        end: (failure) => {
          if (!watch.callers.delete(caller)) return;
          stopTimer?.();
          stopListening?.();
          watch.left();
          if (failure) reject(failure.reason);
          else resolve();
        },
      };
      const stopListening = signal && onAbort(signal, () => caller.end({ reason: signal.reason as Error }));
      const { answers } = watch;
      const tooLate = (): void => caller.end({ reason: watch.waitedTooLong(wait, answers) });
      // The abort, and the other callers, may belong to other requests.
      inRoot(() => {
        if (wait > 0 && wait !== Number.POSITIVE_INFINITY) stopTimer = this.#client.clock.timer(wait, tooLate);
        watch.join(caller);
      });
    });
  }

  rejectAll(reason: Error): void {
    for (const { callers } of this.watches.values()) for (const caller of callers) caller.end({ reason });
  }

  private watchOf(name: string): FreeWatch {
    let watch = this.watches.get(name);
    if (!watch)
      this.watches.set(name, (watch = new FreeWatch(name, this.#client, this.views, () => this.watches.delete(name))));
    return watch;
  }
}

/** Looks at one lock until its last caller is gone. */
class FreeWatch {
  readonly callers = new Set<FreeCaller>();
  /** Looks that had an answer. */
  answers = 0;
  private pause = shortestPause;
  /** Since when the answer to a look is due. */
  private askedAt: number | undefined;
  private stopTimer: (() => void) | undefined;
  /** As of the last look. */
  private holders: readonly LockHolderInfo[] = [];

  readonly #client: LockClient;

  constructor(
    private readonly name: string,
    client: LockClient,
    private readonly views: LockViews,
    private readonly ended: () => void,
  ) {
    this.#client = client;
  }

  join(caller: FreeCaller): void {
    this.callers.add(caller);
    this.pause = shortestPause;
    // The answer to a look under way may be older than this call: the next one follows at once.
    if (this.askedAt === undefined) void this.look();
  }

  left(): void {
    if (this.callers.size > 0 || this.askedAt !== undefined) return;
    this.stopTimer?.();
    this.ended();
  }

  /** @param before the answers when the caller came */
  waitedTooLong(wait: number, before: number): Error {
    const { clock, backend } = this.#client;
    const isOverdue = clock.now() - this.askedAt! >= backend.commandTimeout;
    if (this.answers === before && (isOverdue || !isReachable(backend)))
      return refusals.silence(this.name, 'wait', wait);
    return refusals.waitedTooLong(this.name, wait, this.rest, this.holders[0]);
  }

  /** Until the last of the leases ends, in ms. */
  private get rest(): number | undefined {
    return this.holders.length > 0 ? Math.max(...this.holders.map(({ leaseLeft }) => leaseLeft)) : undefined;
  }

  private async look(): Promise<void> {
    this.stopTimer?.();
    this.askedAt = this.#client.clock.now();
    const asking = [...this.callers];
    try {
      this.holders = await this.views.holdersOf(this.name);
      this.answers++;
      for (const caller of asking) {
        if (this.holders.length === 0) caller.end();
        else if (caller.isImpatient) caller.end({ reason: refusals.contended(this.name, this.rest, this.holders[0]) });
      }
    } catch (error) {
      for (const caller of asking) caller.end({ reason: error as Error });
    }
    this.askedAt = undefined;
    if (this.callers.size === 0) return this.left();
    if ([...this.callers].some((caller) => !asking.includes(caller))) return void this.look();
    const pause = Math.min(this.pause, (this.rest ?? 0) + 1);
    this.pause = Math.min(this.pause * 2, longestPause);
    this.stopTimer = this.#client.clock.timer(pause, () => void this.look());
  }
}
