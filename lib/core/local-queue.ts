import type { LockError } from '../errors/lock-errors.js';
import { Caller, type CallOptions } from './caller.js';
import { Claim, type ClaimOwner, type ClaimTerms, type Grant } from './claim.js';
import type { Clock } from './clock.js';
import { Hold, type HoldOwner } from './hold.js';
import { Line } from './line.js';
import { exclusive, type LockBackend, type LockDemand, type ReleaseReply } from './lock-backend.js';
import type { LockHandle } from './lock-handle.js';
import { refusals } from './refusals.js';
import { Tenure } from './tenure.js';

/** Fencing tokens to have in hand for local hand-offs: more than a process can use up within one round trip. */
const tokenBlock = 256;

/** What a local queue needs from its client. */
export interface LocalQueueHost {
  readonly clock: Clock;
  readonly backend: LockBackend;
  readonly settings: { readonly maxLocalHandoffs: number };
  /**
   * A claim with a fresh id, known to the client so that pushed grants find it.
   * @param method what the id says of who asks (`ResolvedLockOptions.method`)
   */
  openClaim(queue: LocalQueue, method?: string): Claim;
  /** A caller begins (+1) or ends (-1) to wait. @throws LockQueueFullError when too many wait already. */
  countWaiting(name: string, change: 1 | -1, where?: string): void;
  holdStarted(hold: Hold): void;
  /** A caller goes on, inside its hold. */
  handOver(hold: Hold, calledAt: number): LockHandle;
  holdLost(hold: Hold): void;
  /** Nothing but the claim's release is sent for it from now on. */
  claimEnded(queue: LocalQueue, claim: Claim): void;
}

/**
 * The callers of one process for one lock name, in order of arrival. They stand in the backend's queue as one claim:
 * a thousand requests for one product are one waiter in Redis. When a caller gives up, the claim keeps its place for the next;
 * when one is done, the next may go on with the same claim (local hand-off, see Tenure).
 */
export class LocalQueue implements ClaimOwner, HoldOwner {
  /** Asks, holds or waits at the backend for everybody here. */
  claim: Claim | undefined;
  private readonly callers = new Line<Caller>();
  private hold: Hold | undefined;
  private tenure: Tenure | undefined;
  /** Somebody had to wait here: hand-offs are to be expected. */
  private contested = false;
  private renewing = false;
  private renewAgain = false;

  constructor(
    readonly name: string,
    private readonly host: LocalQueueHost,
    /** What its one caller wants (`fairness: 'strict'`). Left out: it is for all that want the lock exclusively. */
    private readonly own?: LockDemand,
  ) {}

  /** Whether it has one caller only. */
  get strict(): boolean {
    return this.own !== undefined;
  }

  get demand(): LockDemand {
    return this.own ?? exclusive;
  }

  get isEmpty(): boolean {
    return this.callers.size === 0;
  }

  /** Answers the lock when it is the caller's turn. Rejects with a LockError, or with the reason of the caller's signal. */
  join(options: CallOptions): Promise<LockHandle> {
    return new Promise((settle, reject) => {
      if (options.wait === 0 && this.claim?.decided) throw this.contendedFor(options);
      const caller = new Caller(options, this.host.clock, settle, reject);
      if (this.claim) {
        this.contested = true;
        if (options.wait > 0) this.count(caller);
      }
      // The first question settles by itself in time: no timer for a lock that is free.
      if (this.claim || options.signal) this.watch(caller);
      this.callers.push(caller);
      if (!this.claim) this.openClaim();
    });
  }

  terms(): ClaimTerms {
    // A claim is closed when its last caller leaves, so there is a first one whenever it asks.
    const { options, giveUpAt } = this.callers.first!;
    return { lease: options.lease, reserve: this.contested ? tokenBlock : 0, enqueue: options.wait > 0, giveUpAt };
  }

  granted(grant: Grant): void {
    const { clock, settings } = this.host;
    // Without tokens in hand there is nothing to pass on.
    if (grant.tokensUntil > grant.fencingToken) this.tenure = new Tenure(grant, clock, settings.maxLocalHandoffs);
    this.serve(this.callers.first!, grant);
    this.refuseImpatient();
  }

  queued(): void {
    for (const caller of this.callers) {
      this.watch(caller);
      try {
        if (!caller.counted) this.count(caller);
      } catch (error) {
        this.leave(caller, error);
      }
    }
    this.refuseImpatient();
  }

  contended(rest: number): void {
    const caller = this.callers.first!;
    // Else who asked has left meanwhile, and whoever comes next is ready to wait.
    if (caller.options.wait === 0) {
      this.remove(caller);
      caller.reject(refusals.contended(this.name, rest, caller.options.where));
    }
    // The claim has left nothing at the backend, and has had its answer: the next caller asks with another one.
    this.next();
  }

  refused(error: LockError): void {
    const head = this.callers.first!;
    if (this.callers.size > 1 && this.host.clock.now() >= head.giveUpAt && error.code === 'LOCK_UNAVAILABLE') {
      // Its time was too short to learn more; those behind have longer.
      this.remove(head);
      head.reject(error);
      this.claim!.abandon();
      this.next();
      return;
    }
    // Those behind would learn the same, one command time-out later each.
    const callers = [...this.callers];
    const claim = this.claim!;
    for (const caller of callers) this.remove(caller);
    claim.abandon();
    this.closeClaim();
    for (const caller of callers) caller.reject(error);
  }

  /** The outermost user of the hold has left: passes the lock on, or gives it back and asks anew for those who wait here. */
  release(hold: Hold): 'handed-on' | Promise<ReleaseReply | 'unanswered'> {
    // A hold that was lost has been given back at that moment, except at `maxHold`.
    if (hold.lost && hold.lost.reason !== 'max-hold') return Promise.resolve('absent');
    const caller = this.hold === hold ? this.callers.first : undefined;
    const keep = hold.keepUntil > 0 && hold.keepUntil > this.host.clock.now();
    const grant = caller && !keep && this.tenure?.handOff(hold);
    if (grant) {
      this.serve(caller, grant, this.tenure!.mustYield());
      if (this.renewing) this.renewAgain = true;
      else void this.renewBeside();
      return 'handed-on';
    }
    const reply = hold.claim.release(keep ? hold.keepUntil : 0);
    // Asked for at once: question and release travel in one packet.
    if (this.hold === hold) this.next();
    return reply;
  }

  moved(hold: Hold): void {
    if (this.hold !== hold) return;
    // Not closed: a question of this claim that fails by now must not give it back.
    const claim = this.claim!;
    this.claim = undefined;
    this.host.claimEnded(this, claim);
    this.next();
  }

  /** Rejects everybody who waits. Who holds the lock keeps it. */
  rejectWaiting(reason: unknown): void {
    for (const caller of this.callers) this.leave(caller, reason);
  }

  private serve(caller: Caller, grant: Grant, yielding = false): void {
    const hold = new Hold(this.claim!, grant, caller.options, this.host.clock, this);
    this.hold = hold;
    hold.users = 1;
    this.remove(caller);
    this.host.holdStarted(hold);
    if (yielding) setImmediate(() => this.settle(caller, hold));
    else this.settle(caller, hold);
  }

  private settle(caller: Caller, hold: Hold): void {
    const lock = this.host.handOver(hold, caller.calledAt);
    if (lock.isHeld) return caller.settle(lock);
    // The event loop stood still between grant and here: an expired lock is none.
    void lock.release();
    caller.reject(hold.lost);
  }

  /**
   * Proves a local hand-off while its holder works already: brings the lease back to its length, reserves tokens, and learns
   * whether others wait. One at a time; whoever comes meanwhile is covered by one more behind it.
   */
  private async renewBeside(): Promise<void> {
    this.renewing = true;
    this.renewAgain = false;
    const { tenure, hold } = this;
    const [reply] = await this.host.backend.renew([hold!.renewal(this.host.clock.now(), tokenBlock)]);
    this.renewing = false;
    if (this.tenure !== tenure) return;
    // What it says of the record is true for whoever holds it by now.
    tenure!.learn(reply!);
    this.hold!.answered(reply!);
    // `answered` may have found the lock lost, and so ended the tenure.
    if (this.renewAgain && this.tenure === tenure) void this.renewBeside();
  }

  holdLost(hold: Hold): void {
    this.host.holdLost(hold);
    if (this.hold !== hold) return;
    // At `maxHold` the lock runs out rather than being freed: the work that hangs has the rest of the lease to stop.
    // Else a renewal still under way may have lengthened the lease at the backend, so it is given back all the same.
    // Work that the shutdown cut off has begun all the same: `minHold` counts.
    const { reason } = hold.lost!;
    if (reason !== 'max-hold') void hold.claim.release(reason === 'shutdown' ? hold.keepUntil : 0);
    this.next();
  }

  private next(): void {
    this.hold = undefined;
    this.tenure = undefined;
    this.closeClaim();
    if (this.callers.size > 0) this.openClaim();
  }

  private openClaim(): void {
    this.claim = this.host.openClaim(this, this.callers.first!.options.method);
    this.claim.ask();
  }

  private closeClaim(): void {
    const { claim } = this;
    if (!claim) return;
    claim.close();
    this.claim = undefined;
    this.host.claimEnded(this, claim);
  }

  private watch(caller: Caller): void {
    caller.watch(
      () => {
        const { wait, where } = caller.options;
        const silent = this.claim?.heard === false;
        this.leave(
          caller,
          silent
            ? refusals.silence(this.name, wait, where)
            : refusals.waitedTooLong(this.name, wait, this.hold?.remaining(), where),
        );
      },
      (reason) => {
        this.leave(caller, reason);
      },
    );
  }

  private leave(caller: Caller, reason: unknown): void {
    if (!this.remove(caller)) return;
    const { claim } = this;
    if (this.callers.size === 0 && claim && !this.hold) {
      claim.abandon();
      this.closeClaim();
    }
    caller.reject(reason);
  }

  private remove(caller: Caller): boolean {
    if (!this.callers.remove(caller)) return false;
    if (caller.counted) this.host.countWaiting(this.name, -1);
    caller.stop();
    return true;
  }

  /** @throws LockQueueFullError */
  private count(caller: Caller): void {
    this.host.countWaiting(this.name, 1, caller.options.where);
    caller.counted = true;
  }

  private contendedFor({ where }: CallOptions): LockError {
    return refusals.contended(this.name, this.hold?.remaining(), where);
  }

  /** One try that stood behind an open question: the answer is that the lock is somebody else's. */
  private refuseImpatient(): void {
    for (const caller of this.callers) {
      if (caller.options.wait === 0) this.leave(caller, this.contendedFor(caller.options));
    }
  }
}
