import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import type { Lock, LockScope } from '../../lib/core/lock.js';
import { lockDefaults, type ResolvedLockOptions } from '../../lib/core/options.js';
import { LockLostError } from '../../lib/errors/lock-errors.js';
import { connectionsWanted } from '../../lib/nest/method/connection-slot.js';

/** Replaces a LockConnection in tests of the advice: every lock is free, and each event is recorded. */
export class RecordingConnection {
  readonly defaults = lockDefaults;
  /** `enter product:7`, notes of tests, `leave product:7 worked`, in order. */
  readonly events: string[] = [];
  /** Options of the last `enter`. */
  options: ResolvedLockOptions | undefined;
  /** When set, `enter` waits for it (or for the signal). */
  gate: Promise<unknown> = Promise.resolve();
  /** When set, what `enter` rejects with. */
  refusal: Error | undefined;
  /** When set, good work ends in a LockLostError. */
  lost = false;
  private readonly flow = new AsyncLocalStorage<string>();

  /** Gives the instance this connection, as Nest does by property injection. */
  inject<T extends object>(instance: T): T {
    for (const slot of connectionsWanted(instance).values()) Reflect.set(instance, slot, this);
    return instance;
  }

  /** Notes an event, with the lock it happened in. */
  note(event: string): void {
    const flow = this.flow.getStore();
    this.events.push(flow === undefined ? event : `${event} in ${flow}`);
  }

  async enter(name: string, options: ResolvedLockOptions): Promise<LockScope> {
    this.options = options;
    this.note(`enter ${name}`);
    options.signal?.throwIfAborted();
    await Promise.race([this.gate, aborted(options.signal)]);
    if (this.refusal) throw this.refusal;
    const lock = { isHeld: true };
    let left = false;
    return {
      lock: lock as Lock,
      run: (fn) => this.flow.run(name, fn),
      leave: async (outcome) => {
        if (left) return;
        left = true;
        // The duration of a release, so that a test sees which code waits for it.
        await turn();
        lock.isHeld = false;
        this.events.push(`leave ${name} ${outcome}`);
        if (this.lost && outcome === 'worked') throw new LockLostError('gone', { key: name, reason: 'expired' });
      },
    };
  }
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}
