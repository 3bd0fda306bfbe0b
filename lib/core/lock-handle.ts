import { type Duration, parseDuration } from './duration.js';
import type { Hold } from './hold.js';
import type { Lock } from './lock.js';
import { minLease } from './options.js';
import type { LockLostError } from '../errors/lock-errors.js';
import { lostError } from './refusals.js';

/** What a handle needs from its client. */
export interface HandleHost {
  /** @param lease in ms; left out: that of each hold */
  renew(holds: readonly Hold[], lease?: number): Promise<void>;
  /** Hands it over to another process, all handles of one lock together. @param lease in ms */
  export(handles: readonly LockHandle[], lease?: number): Promise<string>;
  /** One user less; the last one gives the lock back. */
  leave(hold: Hold): Promise<void>;
}

/** One user's view of a hold: the outermost one, or a re-entry. */
export class LockHandle implements Lock {
  private released: Promise<void> | undefined;
  private ended: 'released' | 'exported' = 'released';

  constructor(
    readonly hold: Hold,
    readonly depth: number,
    readonly host: HandleHost,
  ) {}

  get key(): string {
    return this.hold.name;
  }

  get keys(): readonly string[] {
    return [this.key];
  }

  get fencingToken(): number {
    return this.hold.fencingToken;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map([[this.key, this.fencingToken]]);
  }

  get signal(): AbortSignal {
    return this.hold.signal;
  }

  get isHeld(): boolean {
    return this.remaining > 0;
  }

  get remaining(): number {
    return this.released ? 0 : this.hold.remaining();
  }

  get lost(): LockLostError | undefined {
    return this.hold.lost;
  }

  /** Whether a flow inside it is still inside the hold, be it lost or not: its last user has not left. */
  get lasts(): boolean {
    return this.hold.users > 0;
  }

  assertHeld(): void {
    if (this.isHeld) return;
    throw this.hold.lost ?? lostError(this.key, this.ended, this.hold.where);
  }

  async renew(lease?: Duration): Promise<void> {
    const milliseconds = leaseOf(lease);
    this.assertHeld();
    await this.host.renew([this.hold], milliseconds);
  }

  async export(lease?: Duration): Promise<string> {
    return this.host.export([this], leaseOf(lease));
  }

  /** It was handed over: its release has nothing to give back. */
  moved(): void {
    this.released = Promise.resolve();
    this.ended = 'exported';
  }

  release(): Promise<void> {
    this.released ??= this.host.leave(this.hold);
    return this.released;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/** @throws LockConfigurationError */
export function leaseOf(lease: Duration | undefined): number | undefined {
  return lease === undefined ? undefined : parseDuration('lease', lease, { min: minLease });
}
