import { setImmediate } from '../diagnostics/platform.js';
import type { Hold } from './hold.js';
import type { LockLog } from './lock-log.js';
import { handleLines, holdsNamed } from './refusals.js';
import { inRoot } from './root-context.js';

/**
 * Finds handles of `acquire` that were collected although they hold: their lock would be renewed for as long as the process runs. A
 * warning says so once, and the lock ends with its lease.
 *
 * A handle is registered with the first renewal, not with the grant: most locks are released long before, and pay nothing. Until then its
 * hold keeps it. Nothing else in the engine may: a hold, its signal and the caller's promise outlive the caller's interest in the lock.
 */
export class ForgottenHandles {
  private readonly registry = new FinalizationRegistry<Hold>((hold) => this.collected(hold));
  private found: Hold[] = [];

  /** @param rescheduled learns of a hold that is not renewed any more */
  constructor(
    private readonly log: LockLog,
    private readonly rescheduled: (hold: Hold) => void,
  ) {}

  /** The hold is renewed: it has lasted for a third of its lease. */
  watch(hold: Hold): void {
    const handles = hold.takeHandles();
    // Now, while it is not needed: until it is formatted, a stack keeps the objects of its frames.
    if (handles.length > 0) void hold.options.site?.where;
    for (const handle of handles) this.registry.register(handle, hold, handle);
  }

  /** It was released. */
  unwatch(handle: object): void {
    this.registry.unregister(handle);
  }

  private collected(hold: Hold): void {
    if (hold.lost || !hold.isUsed) return;
    hold.forget();
    this.rescheduled(hold);
    // Those that are collected together are one line.
    if (this.found.push(hold) === 1) inRoot(() => setImmediate(() => this.tell()));
  }

  private tell(): void {
    const { found } = this;
    this.found = [];
    const named = found.map(({ name, caller, options: { site } }) => ({ name, caller: site?.where ?? caller }));
    this.log.warn(handleLines.forgotten(holdsNamed(named)));
  }
}
