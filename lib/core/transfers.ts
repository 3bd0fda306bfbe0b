import { channels } from '../diagnostics/channels.js';
import { LockUnavailableError } from '../errors/lock-errors.js';
import type { Clock } from './clock.js';
import { Hold, type HeldClaim, type HoldOwner } from './hold.js';
import type { AdoptReply, LockBackend, LockDemand, LockKind, ReleaseReply } from './lock-backend.js';
import { type HandleHost, LockHandle } from './lock-handle.js';
import { MultiLock, type MultiLockHost, giveBack } from './multi-lock.js';
import type { ResolvedLockOptions } from './options.js';
import type { Releases } from './releases.js';
import { type TicketContent, type TicketHold, writeTicket } from './ticket.js';
import { ticketLosses, transferRefusals as refusals } from './transfers.messages.js';

/** What it needs from its client. */
export interface TransferHost extends HandleHost, MultiLockHost {
  readonly clock: Clock;
  readonly backend: LockBackend;
  readonly releases: Releases;
  newClaimId(method?: string): string;
  /** @throws LockUnavailableError when no lock is given out any more. */
  assertOpen(name: string): void;
  holdStarted(hold: Hold): void;
  holdLost(hold: Hold): void;
  /** It goes on elsewhere: nothing of it is this process' business any more. */
  holdMoved(hold: Hold): void;
}

/** Pause (ms) before a question that went unanswered is asked again. */
const pause = 100;

/** Locks that are taken in one process and finished in another: `lock.export()` there, `locks.adopt(ticket)` here. */
export class Transfers implements HoldOwner {
  /** Claims that hold elsewhere, and until when (local ms): what still comes for them must not give them back. */
  private readonly exported = new Map<string, number>();

  constructor(private readonly host: TransferHost) {}

  /**
   * Proves the hold, brings its lease to its length, and ends it here without giving it back.
   * @param handles all names of one lock
   * @param lease ms for which the ticket is good; left out: that of the hold
   */
  async export(handles: readonly LockHandle[], lease?: number): Promise<string> {
    const { host } = this;
    if (!host.backend.adopt) throw refusals.notProvided('export');
    const holds = handles.map(({ hold }) => hold);
    assertAlone(handles);
    await host.renew(holds, lease);
    // Somebody may have come in, released or exported it meanwhile.
    assertAlone(handles);
    const { kind, permits, limit } = holds[0]!.claim;
    const ticket = writeTicket({ kind, permits, limit, holds: holds.map(ticketHoldOf) });
    this.forget();
    const now = host.clock.now();
    for (const [index, hold] of holds.entries()) {
      this.exported.set(hold.claim.claim, now + 2 * (hold.validUntil - now) + host.backend.commandTimeout);
      handles[index]!.moved();
      host.holdMoved(hold);
      hold.owner.moved(hold);
    }
    return ticket;
  }

  /** Whether the claim may hold elsewhere. */
  hasLeft(claim: string): boolean {
    return this.exported.has(claim);
  }

  /**
   * Takes over what a ticket stands for, all or none. The first name decides: who has that has all, so of several that try at once one wins.
   * @throws LockLostError when the lease was over, or somebody else has adopted it.
   */
  async adopt({ holds, ...demand }: TicketContent, options: ResolvedLockOptions): Promise<LockHandle | MultiLock> {
    const { host } = this;
    if (!host.backend.adopt) throw refusals.notProvided('adopt');
    const [first, ...others] = holds;
    host.assertOpen(first!.name);
    const giveUpAt = host.clock.now() + options.wait;
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
    options: ResolvedLockOptions,
    giveUpAt: number,
  ): Promise<LockHandle> {
    const { host } = this;
    const adoption = new Adoption(name, host.newClaimId(options.method), demand, options.lease, host);
    const validUntil = await adoption.ask(from, fencingToken, giveUpAt);
    const grant = { fencingToken, validUntil, provisional: false, tokensUntil: fencingToken, othersWait: false };
    const hold = new Hold(adoption, grant, options, host.clock, this);
    hold.users = 1;
    host.holdStarted(hold);
    const lock = new LockHandle(hold, 1, host);
    // The event loop may have stood still: an expired lock is none.
    if (!lock.isHeld) {
      await lock.release();
      throw hold.lost!;
    }
    if (channels.adopted.hasSubscribers) channels.adopted.publish({ key: name, fencingToken });
    return lock;
  }

  release(hold: Hold): Promise<ReleaseReply | 'unanswered'> {
    return hold.lost && hold.lost.reason !== 'max-hold' ? Promise.resolve('absent') : hold.claim.release();
  }

  holdLost(hold: Hold): void {
    this.host.holdLost(hold);
    // As for a lock that was taken here: at `maxHold` it runs out, and the work that hangs has the rest of the lease to stop.
    if (hold.lost!.reason !== 'max-hold') void hold.claim.release();
  }

  moved(): void {
    // Nobody in this process waits behind what was adopted.
  }

  /** What was exported so long ago that its lease is over cannot be given back by mistake. */
  private forget(): void {
    const now = this.host.clock.now();
    for (const [claim, until] of this.exported) if (until < now) this.exported.delete(claim);
  }
}

/** The claim with which a process holds what it has adopted: asked for until it is answered, given back exactly once. */
class Adoption implements HeldClaim {
  readonly kind: LockKind;
  readonly permits: number;
  readonly limit: number;
  /** Until when a question that went unanswered may still be executed; 0 when there is none. */
  private lateUntil = 0;

  constructor(
    readonly name: string,
    readonly claim: string,
    { kind, permits, limit }: LockDemand,
    private readonly lease: number,
    private readonly host: TransferHost,
  ) {
    this.kind = kind;
    this.permits = permits;
    this.limit = limit;
  }

  /** Answers until when it is certain. What may have been executed unanswered is taken back before it rejects. */
  async ask(from: string, fencingToken: number, giveUpAt: number): Promise<number> {
    const { name, claim, lease, host } = this;
    try {
      for (;;) {
        const reply = await this.tryOnce({ name, claim, from, fencingToken, lease, giveUpAt }, giveUpAt);
        if (reply === 'gone') throw ticketLosses.tooLate(name);
        if (reply === 'taken') throw ticketLosses.adoptedElsewhere(name);
        if (reply) {
          // What comes late finds it moved already, or given back.
          this.lateUntil = 0;
          return reply.validUntil;
        }
        await new Promise<void>((resolve) => host.clock.timer(pause, resolve));
        host.assertOpen(name);
      }
    } catch (error) {
      if (this.lateUntil > 0) void this.release(0);
      throw error;
    }
  }

  release(keepUntil = 0): Promise<ReleaseReply | 'unanswered'> {
    const { name, claim, lease, host } = this;
    return host.releases.release({ name, claim, keepUntil }, lease, this.lateUntil);
  }

  /** Undefined when nobody answered and there is time for another try. */
  private async tryOnce(
    request: Parameters<NonNullable<LockBackend['adopt']>>[0],
    giveUpAt: number,
  ): Promise<AdoptReply | undefined> {
    const { clock, backend } = this.host;
    try {
      return await backend.adopt!(request);
    } catch (error) {
      if (!(error instanceof LockUnavailableError)) throw error;
      if (error.uncertain) this.lateUntil = clock.now() + 2 * backend.commandTimeout;
      if (clock.now() + pause >= giveUpAt) throw error;
      return undefined;
    }
  }
}

function assertAlone(handles: readonly LockHandle[]): void {
  for (const handle of handles) handle.assertHeld();
  for (const { hold } of handles) {
    if (hold.users > 1) throw refusals.notAlone(hold.name, hold.where);
  }
}

const ticketHoldOf = ({ name, fencingToken, claim: { claim } }: Hold): TicketHold => ({ name, claim, fencingToken });
