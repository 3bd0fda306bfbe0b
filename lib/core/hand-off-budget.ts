import type { Grant } from './asking-claim.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { RenewReply } from './lock-backend.js';

/** How often a process may pass a lock on inside while other processes wait for it. */
const mostWhileOthersWait = 16;

/** Milliseconds for which a process may pass a lock on inside while other processes wait for it. */
const longestWhileOthersWait = 50;

/** Milliseconds of hand-offs after which the event loop gets a turn: work without awaits must not block the rest. */
const slice = 10;

/**
 * How often, and for how long, one claim may serve further callers of this process (local hand-off).
 *
 * Each caller gets a larger fencing token, from the block that the backend reserved. A later grant can never reach a token that this
 * process gave out, even if the register ran ahead of a clock that was set back.
 */
export class HandOffBudget {
  private readonly startedAt: number;
  private readonly span: number;
  /** A renewal beside a hand-off is under way; `renewAgain`: the lock was passed on again since it was sent. */
  renewing = false;
  renewAgain = false;
  private handOffs = 0;
  private sliceBegan: number;
  private tokensUntil: number;
  private othersWait: boolean;

  constructor(
    grant: Grant,
    private readonly clock: Clock,
  ) {
    this.startedAt = clock.now();
    this.sliceBegan = this.startedAt;
    this.span = grant.validUntil - this.startedAt;
    this.tokensUntil = grant.tokensUntil;
    this.othersWait = grant.othersWait;
  }

  /** Takes tokens and queue state from the reply to a renewal. */
  learn(reply: RenewReply): void {
    if (typeof reply !== 'object') return;
    this.tokensUntil = Math.max(this.tokensUntil, reply.tokensUntil);
    this.othersWait = reply.othersWait;
  }

  /** True when the next hand-off should run in another turn of the event loop. */
  mustYield(): boolean {
    const now = this.clock.now();
    if (now - this.sliceBegan < slice) return false;
    this.sliceBegan = now;
    return true;
  }

  /**
   * The grant for the next caller of this process, without a command. Undefined when it is another process's turn, when no token is left,
   * or when too little of the lease is certain. Provisional: the rest of the lease is shorter than what the caller wants.
   */
  handOff(hold: Hold): Grant | undefined {
    const fencingToken = hold.fencingToken + 1;
    if (hold.lost || fencingToken > this.tokensUntil) return undefined;
    const now = this.clock.now();
    if (this.othersWait && (this.handOffs >= mostWhileOthersWait || now - this.startedAt >= longestWhileOthersWait))
      return undefined;
    if (hold.validUntil - now < Math.min(hold.lease, this.span) / 2) return undefined;
    this.handOffs++;
    return {
      fencingToken,
      validUntil: hold.validUntil,
      provisional: true,
      pushed: false,
      tokensUntil: this.tokensUntil,
      othersWait: this.othersWait,
    };
  }
}
