import type { Grant } from './claim.js';
import type { Clock } from './clock.js';
import type { Hold } from './hold.js';
import type { RenewReply } from './lock-backend.js';

/** Milliseconds for which a process may pass a lock on inside while other processes wait for it. */
const longestWhileOthersWait = 50;

/** Milliseconds of hand-offs after which the event loop gets a turn: work that never awaits anything must not shut out the rest. */
const slice = 10;

/**
 * The time for which one claim holds a lock: one holder, or several callers of this process after another (local hand-off).
 *
 * Each of them gets a larger fencing token, from the block that the backend reserved: tokens that this process gave out can
 * therefore never be reached by a later grant, also when the register ran ahead of a clock that was set back.
 */
export class Tenure {
  private readonly startedAt: number;
  private readonly span: number;
  private handOffs = 0;
  private sliceBegan: number;
  private tokensUntil: number;
  private othersWait: boolean;

  constructor(
    grant: Grant,
    private readonly clock: Clock,
    private readonly maxHandOffs: number,
  ) {
    this.startedAt = clock.now();
    this.sliceBegan = this.startedAt;
    this.span = grant.validUntil - this.startedAt;
    this.tokensUntil = grant.tokensUntil;
    this.othersWait = grant.othersWait;
  }

  /** What the backend said to a renewal that reserved tokens. */
  learn(reply: RenewReply): void {
    if (typeof reply !== 'object') return;
    this.tokensUntil = Math.max(this.tokensUntil, reply.tokensUntil);
    this.othersWait = reply.othersWait;
  }

  /** Whether the next hand-off should take place in another turn of the event loop. */
  mustYield(): boolean {
    const now = this.clock.now();
    if (now - this.sliceBegan < slice) return false;
    this.sliceBegan = now;
    return true;
  }

  /**
   * The grant for the next caller of this process, with no word to the backend. Undefined when it is the others' turn, when
   * no token is left, or when too little of the lease is certain.
   */
  handOff(hold: Hold): Grant | undefined {
    const fencingToken = hold.fencingToken + 1;
    if (hold.lost || fencingToken > this.tokensUntil || this.maxHandOffs === 0) return undefined;
    const now = this.clock.now();
    if (this.othersWait && (this.handOffs >= this.maxHandOffs || now - this.startedAt >= longestWhileOthersWait))
      return undefined;
    if (hold.validUntil - now < Math.min(hold.lease, this.span) / 2) return undefined;
    this.handOffs++;
    return {
      fencingToken,
      validUntil: hold.validUntil,
      provisional: false,
      tokensUntil: this.tokensUntil,
      othersWait: this.othersWait,
    };
  }
}
