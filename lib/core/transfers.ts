import { channels } from '../diagnostics/channels.js';
import { LockUnavailableError } from '../errors/lock-errors.js';
import { AskingClaim } from './asking-claim.js';
import { type CallOptions, type ResolvedLockOptions, withLabel } from './options.js';
import { partyOf } from './claim-id.js';
import { type Clock, pauseFor } from './clock.js';
import { Hold, type HeldClaim, type HoldOwner } from './hold.js';
import type { AdoptReply, LockBackend, LockDemand, ReleaseReply } from './lock-backend.js';
import { type HandleHost, LockHandle } from './lock-handle.js';
import { MultiLock, giveBack } from './multi-lock.js';
import type { Observation } from './observation.js';
import type { Releases } from './releases.js';
import { type TicketContent, type TicketHold, writeTicket } from './ticket.js';
import { ticketLosses, transferRefusals as refusals } from './transfers.messages.js';

/** What it needs from its client. */
export interface TransferHost extends HandleHost {
  readonly observation: Observation;
  readonly clock: Clock;
  readonly backend: LockBackend;
  readonly releases: Releases;
  newClaimId(callerSuffix?: string): string;
  /** @throws LockUnavailableError when no more locks are given out. */
  assertOpen(name: string): void;
  holdStarted(hold: Hold): void;
  /** The handle of a caller that has got the lock. */
  handleOf(hold: Hold): LockHandle;
  holdLost(hold: Hold): void;
  /** The hold continues elsewhere: this process forgets it. */
  holdMoved(hold: Hold): void;
}

/** Pause (ms) before a request without a reply is repeated. */
const pause = 100;

/** Locks that are taken in one process and finished in another: `lock.export()` there, `locks.adopt(ticket)` here. */
export class Transfers implements HoldOwner {
  /** Exported claims, and until when they may hold elsewhere (local ms): messages for them must not cause a release. */
  private readonly exported = new Map<string, number>();
  private readonly adopting = new Set<Promise<unknown>>();
  /** Ends the pauses between two tries. */
  private readonly pauses = new Set<() => void>();

  constructor(private readonly host: TransferHost) {}

  /**
   * Confirms the hold, restores its lease, and ends it here without releasing it.
   * @param handles all names of one lock
   * @param lease ms for which the ticket is valid; left out: that of the hold
   */
  async export(handles: readonly LockHandle[], lease?: number): Promise<string> {
    const { host } = this;
    if (!host.backend.adopt) throw refusals.notProvided('export');
    const holds = handles.map((handle) => LockHandle.holdOf(handle));
    assertAlone(handles);
    await host.renew(holds, lease);
    // A re-entry, a release or another export may have happened in that time.
    assertAlone(handles);
    const { kind, permits, limit } = holds[0]!.claim;
    const ticket = writeTicket({ kind, permits, limit, holds: holds.map(ticketHoldOf) });
    this.forget();
    const now = host.clock.now();
    for (const [index, hold] of holds.entries()) {
      this.exported.set(hold.claim.id, now + 2 * (hold.validUntil - now) + host.backend.commandTimeout);
      handles[index]!.moved();
      host.holdMoved(hold);
      hold.owner.moved(hold);
    }
    return ticket;
  }

  /** True when the claim may hold elsewhere. */
  hasLeft(claim: string): boolean {
    return this.exported.has(claim);
  }

  /**
   * Adopts all names of a ticket or none. The first name decides between concurrent adopters: the one that gets it gets all.
   * @throws LockLostError when the lease was over, or the ticket was adopted before.
   */
  async adopt(ticket: TicketContent, options: CallOptions): Promise<LockHandle | MultiLock> {
    if (!this.host.backend.adopt) throw refusals.notProvided('adopt');
    const adopted = this.adoptAll(ticket, options);
    this.adopting.add(adopted);
    return adopted.finally(() => this.adopting.delete(adopted));
  }

  /** Settles when no adoption is under way any more; none is repeated. */
  async settled(): Promise<void> {
    for (const end of this.pauses) end();
    await Promise.allSettled(this.adopting);
  }

  private async adoptAll({ holds, ...demand }: TicketContent, options: CallOptions): Promise<LockHandle | MultiLock> {
    const { host } = this;
    const [first, ...others] = holds;
    host.assertOpen(first!.name);
    const { calledAt = host.clock.now() } = options;
    const giveUpAt = calledAt + options.wait;
    const take = (hold: TicketHold): Promise<LockHandle> => this.take(hold, demand, options, giveUpAt);
    const taken = [await take(first!)];
    const tries = await Promise.allSettled(others.map(take));
    for (const result of tries) if (result.status === 'fulfilled') taken.push(result.value);
    const failure = tries.find((result) => result.status === 'rejected');
    if (failure) {
      await giveBack(taken);
      throw failure.reason;
    }
    return taken.length === 1 ? taken[0]! : new MultiLock(taken, host);
  }

  private async take(
    { name, claim: from, fencingToken }: TicketHold,
    demand: LockDemand,
    given: ResolvedLockOptions,
    giveUpAt: number,
  ): Promise<LockHandle> {
    const { host } = this;
    const { label } = partyOf(from);
    const options = given.label === undefined && label !== undefined ? withLabel(given, label) : given;
    const adoption = new Adoption(name, host.newClaimId(options.callerSuffix), demand, options.lease, host);
    const validUntil = await adoption.ask(from, fencingToken, giveUpAt, () => this.pause());
    // An adoption that arrives during the shutdown would be cut off: another process can still adopt the ticket.
    await this.assertOpen(adoption);
    const grant = {
      fencingToken,
      validUntil,
      provisional: false,
      pushed: false,
      tokensUntil: fencingToken,
      othersWait: false,
    };
    const hold = new Hold(adoption, grant, options, host.clock, this);
    host.holdStarted(hold);
    const lock = host.handleOf(hold);
    // The event loop may have stood still, and the lease may have expired.
    if (!lock.isHeld) {
      await lock.release();
      throw hold.lost!;
    }
    if (channels.adopted.hasSubscribers) channels.adopted.publish({ key: name, fencingToken });
    host.observation.holdStarts(hold);
    return lock;
  }

  private async pause(): Promise<void> {
    let endNow!: () => void;
    await pauseFor(this.host.clock, pause, (end) => this.pauses.add((endNow = end)));
    this.pauses.delete(endNow);
  }

  private async assertOpen(adoption: Adoption): Promise<void> {
    try {
      this.host.assertOpen(adoption.name);
    } catch (error) {
      await adoption.release();
      throw error;
    }
  }

  release(hold: Hold): Promise<ReleaseReply | 'unanswered'> {
    return hold.lost && hold.lost.reason !== 'max-hold' ? Promise.resolve('absent') : hold.claim.release();
  }

  holdLost(hold: Hold): void {
    this.host.holdLost(hold);
    // As for a lock that was taken here: at `maxHold` it expires, and the work that hangs has the rest of the lease to stop.
    if (hold.lost!.reason !== 'max-hold') void hold.claim.release();
  }

  moved(): void {
    // No caller of this process waits behind an adopted lock.
  }

  /** Forgets exported claims whose lease is over: they cannot be released by mistake any more. */
  private forget(): void {
    const now = this.host.clock.now();
    for (const [claim, until] of this.exported) if (until < now) this.exported.delete(claim);
  }
}

/** The claim with which a process holds an adopted lock. It asks until it has a reply, and is released exactly once. */
class Adoption extends AskingClaim implements HeldClaim {
  longestLease: number;

  constructor(
    name: string,
    id: string,
    demand: LockDemand,
    private readonly lease: number,
    private readonly host: TransferHost,
  ) {
    super(name, id, demand);
    this.longestLease = lease;
  }

  /**
   * Resolves to the end of the certain lease. Takes back what may have been executed before it rejects.
   * @param paused settles when it is time for another try
   */
  async ask(from: string, fencingToken: number, giveUpAt: number, paused: () => Promise<void>): Promise<number> {
    const { name, id: claim, lease, host } = this;
    try {
      for (;;) {
        const reply = await this.tryOnce({ name, id: claim, from, fencingToken, lease, giveUpAt }, giveUpAt);
        if (reply === 'gone') throw ticketLosses.tooLate(name);
        if (reply === 'taken') throw ticketLosses.adoptedElsewhere(name);
        if (reply) {
          // A late request finds the hold moved already, or released.
          this.lateUntil = 0;
          return reply.validUntil;
        }
        await paused();
        host.assertOpen(name);
      }
    } catch (error) {
      if (this.lateUntil > 0) void this.release(0);
      throw error;
    }
  }

  release(keepUntil = 0): Promise<ReleaseReply | 'unanswered'> {
    const { name, id: claim, longestLease, host } = this;
    return host.releases.release({ name, id: claim, keepUntil }, longestLease, this.lateUntil);
  }

  /** Undefined when there was no reply and there is time for another try. */
  private async tryOnce(
    request: Parameters<NonNullable<LockBackend['adopt']>>[0],
    giveUpAt: number,
  ): Promise<AdoptReply | undefined> {
    const { clock, backend } = this.host;
    try {
      return await backend.adopt!(request);
    } catch (error) {
      if (!(error instanceof LockUnavailableError)) throw error;
      const now = clock.now();
      this.failedAt(now, error, backend.commandTimeout);
      if (now + pause >= giveUpAt) throw error;
      return undefined;
    }
  }
}

function assertAlone(handles: readonly LockHandle[]): void {
  for (const handle of handles) handle.assertHeld();
  for (const handle of handles) {
    const hold = LockHandle.holdOf(handle);
    if (hold.isReentered) throw refusals.notAlone(hold.name, hold.caller);
  }
}

const ticketHoldOf = ({ name, fencingToken, claim: { id: claim } }: Hold): TicketHold => ({
  name,
  claim,
  fencingToken,
});
