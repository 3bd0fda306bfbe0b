import { type LockError, LockUnavailableError } from '../errors/lock-errors.js';
import type { ClaimRef, LockDemand, LockKind, Outlook } from './lock-backend.js';

/** A lock that was granted to a claim. */
export interface Grant extends Outlook {
  readonly fencingToken: number;
  readonly validUntil: number;
  /** It ends before the lease that its holder wants, unless a renewal comes soon: a pushed grant, or a predecessor's lease. */
  readonly provisional: boolean;
  /** True when a message brought it: another process has just released the lock. */
  readonly pushed: boolean;
}

/**
 * A claim that asks a backend: one request at a time. A request that failed may still be executed, so a claim that is released in that time
 * is released once more at `lateUntil` (see Releases).
 */
export abstract class AskingClaim implements ClaimRef, LockDemand {
  /** A request is open. */
  protected asking = false;
  /** Ask once more after the reply to the open request. */
  protected askAgain = false;
  /** Until when a failed request may still be executed; 0 when there is none. */
  protected lateUntil = 0;

  constructor(
    readonly name: string,
    readonly id: string,
    private readonly demand: LockDemand,
  ) {}

  get kind(): LockKind {
    return this.demand.kind;
  }

  get permits(): number {
    return this.demand.permits;
  }

  get limit(): number {
    return this.demand.limit;
  }

  /** @returns false while a request is open; another one follows it then. */
  protected begin(): boolean {
    this.askAgain = this.asking;
    if (this.asking) return false;
    this.asking = true;
    return true;
  }

  /**
   * The open request failed.
   * @param commandTimeout of the backend in ms: a sent request is executed within twice this, or never (see `LockBackend`).
   * @returns true when it may have been, or may still be, executed.
   */
  protected failedAt(now: number, error: LockError, commandTimeout: number): boolean {
    this.asking = false;
    if (!(error instanceof LockUnavailableError) || !error.uncertain) return false;
    this.lateUntil = now + 2 * commandTimeout;
    return true;
  }
}
