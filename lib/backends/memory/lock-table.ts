import type { AdoptRequest, HolderRef, LockSnapshot, RenewRequest } from '../../core/lock-backend.js';
import type { Answer, Audience, LockView, Question, Renewed, Standing } from './table-messages.js';

/** Longest time in ms that a grant lasts for a waiter of which nothing is heard. */
export const claimWindow = 3000;

interface Holder {
  readonly claim: string;
  readonly fencingToken: number;
  endsAt: number;
  /** False: it was handed the lock, and nobody has heard of it yet. */
  confirmed: boolean;
  /** Given up by its holder; nobody else gets it before `endsAt`. */
  kept?: boolean;
}

interface Waiter {
  readonly lease: number;
  readonly reserve: number;
  readonly aliveUntil: number;
  /** When it came. */
  readonly since: number;
  standing: Standing;
}

interface Entry {
  holder: Holder | undefined;
  /** In order of arrival. The claim of a provisional grant stays in it until it is confirmed. */
  readonly queue: Map<string, Waiter>;
}

/**
 * The locks of one memory server: for each name at most one holder, and a queue of claims.
 *
 * Every method is one atomic step, and does what the script of the same name does in Redis (../redis/scripts). It can be read in
 * their place: what an answer means, who is served next, which token comes out.
 */
export class LockTable {
  private readonly locks = new Map<string, Entry>();
  /** The largest fencing token that was issued or reserved. */
  private register = 0;

  /** @param clock ms since 1970; it never goes back */
  constructor(
    private readonly clock: () => number,
    private readonly audience: Audience,
  ) {}

  /** Asks for the lock for one claim. A claim that holds gets the same grant again, a claim that waits keeps its place. */
  acquire({ name, claim, lease, reserve, patience }: Question): Answer {
    return this.step(name, (entry, now) => {
      if (!entry.holder) {
        const served = this.serve(name, entry, now, claim);
        // Its turn, or nobody alive is ahead: whoever is still queued could not be reached.
        if (served === claim || served === undefined) {
          entry.queue.delete(claim);
          entry.holder = this.grant(claim, now, lease, reserve, true);
        }
      }
      const holder = entry.holder!;
      if (holder.claim === claim) return this.granted(entry, holder, now, lease, reserve);

      const rest = holder.endsAt - now;
      if (patience === 0) return { status: 'contended', rest };
      // Nobody listens for the claim: it asks, so it is alive. It is served unheard, and its next question fetches the grant.
      const standing = this.audience.hears(clientOf(claim)) ? 'heard' : 'asked';
      // A Map keeps the place of a key that it has.
      const since = entry.queue.get(claim)?.since ?? now;
      entry.queue.set(claim, { lease, reserve, standing, aliveUntil: now + patience, since });
      return { status: 'queued', rest, heard: standing === 'heard' };
    });
  }

  /**
   * Gives a claim up: frees the lock when it holds, and hands it on in the same step; else takes it out of the queue.
   * @param keep ms for which nobody else shall get the lock all the same
   */
  release(name: string, claim: string, keep = 0): 'released' | 'cancelled' | 'absent' {
    return this.step(name, (entry, now) => {
      const held = entry.holder?.claim === claim;
      if (held)
        entry.holder = keep > 0 ? { ...entry.holder!, endsAt: now + keep, confirmed: true, kept: true } : undefined;
      const waited = entry.queue.delete(claim);
      if (!entry.holder) this.serve(name, entry, now);
      if (held) return 'released';
      return waited ? 'cancelled' : 'absent';
    });
  }

  /** Lengthens a lease, never shortens it. The first renewal of a provisional grant makes it a full one. */
  renew({ name, claim, fencingToken, lease, reserve }: RenewRequest): Renewed | 'lost' {
    return this.step(name, ({ holder, queue }, now) => {
      // A holder may show a later token of its block; a smaller one is of an earlier grant of the same claim.
      if (holder?.claim !== claim || holder.kept || holder.fencingToken > fencingToken) return 'lost';
      if (!holder.confirmed) queue.delete(claim);
      holder.confirmed = true;
      holder.endsAt = Math.max(holder.endsAt, now + lease);
      const rest = holder.endsAt - now;
      if (reserve === 0) return { rest, tokensUntil: 0, othersWait: false };
      return { rest, tokensUntil: this.raise(fencingToken + reserve), othersWait: queue.size > 0 };
    });
  }

  /** Forgets the holder, as when its key was evicted or deleted: nobody is told, the next question finds the lock free. */
  lose(name: string): boolean {
    return this.step(name, (entry) => {
      const held = entry.holder !== undefined;
      entry.holder = undefined;
      return held;
    });
  }

  /** Who holds and who waits, as the port tells it. */
  snapshot(name: string, most: number): LockSnapshot {
    return this.step(name, ({ holder, queue }, now) => ({
      kind: holder && 'exclusive',
      limit: undefined,
      holders: holder
        ? [
            {
              claim: holder.claim,
              fencingToken: holder.fencingToken,
              heldFor: Math.max(0, now - holder.fencingToken / 1000),
              leaseLeft: holder.endsAt - now,
              state: holder.kept ? 'kept' : holder.confirmed ? 'full' : 'provisional',
              permits: 1,
            },
          ]
        : [],
      waiters: [...queue]
        .filter(([claim, { aliveUntil }]) => aliveUntil >= now && claim !== holder?.claim)
        .slice(0, most)
        .map(([claim, { since }]) => ({ claim, waited: now - since, kind: 'exclusive', permits: 1 })),
    }));
  }

  /** Takes the lock from those of the named who hold it, and hands it on. Answers their claims. */
  revoke(name: string, named: readonly HolderRef[]): string[] {
    return this.step(name, (entry, now) => {
      const { holder } = entry;
      if (!holder || !named.some((ref) => ref.claim === holder.claim && ref.fencingToken === holder.fencingToken))
        return [];
      const { claim } = holder;
      entry.queue.delete(claim);
      entry.holder = undefined;
      this.serve(name, entry, now);
      this.audience.revoked(clientOf(claim), { name, claim });
      return [claim];
    });
  }

  /** Moves a hold to another claim, with its token: of all who try one has it. */
  adopt({ name, claim, from, fencingToken, lease }: AdoptRequest): { readonly rest: number } | 'gone' | 'taken' {
    return this.step(name, (entry, now) => {
      const { holder } = entry;
      if (holder?.claim === claim && holder.fencingToken === fencingToken) {
        holder.endsAt = Math.max(holder.endsAt, now + lease);
        return { rest: holder.endsAt - now };
      }
      if (holder?.claim === from && !holder.kept && holder.fencingToken <= fencingToken) {
        if (holder.fencingToken < fencingToken && fencingToken > this.register) return 'gone';
        entry.holder = { claim, fencingToken, endsAt: now + lease, confirmed: true };
        entry.queue.delete(from);
        return { rest: lease };
      }
      return holder?.fencingToken === fencingToken ? 'taken' : 'gone';
    });
  }

  /** The names that somebody holds. */
  held(): string[] {
    const now = this.clock();
    return [...this.locks].filter(([, { holder }]) => holder && holder.endsAt > now).map(([name]) => name);
  }

  inspect(name: string): LockView {
    return this.step(name, ({ holder, queue }, now) => ({
      holder: holder && {
        client: clientOf(holder.claim),
        fencingToken: holder.fencingToken,
        leaseLeft: holder.endsAt - now,
        confirmed: holder.confirmed,
      },
      waiters: [...queue]
        .filter(([claim, { aliveUntil }]) => aliveUntil >= now && claim !== holder?.claim)
        .map(([claim, { standing }]) => ({ client: clientOf(claim), standing })),
    }));
  }

  /** How many names anything is remembered of. */
  get size(): number {
    return this.locks.size;
  }

  /** The clock is read once; a lease that is over ends first; a name with neither holder nor queue is forgotten. */
  private step<T>(name: string, work: (entry: Entry, now: number) => T): T {
    const now = this.clock();
    const entry = this.locks.get(name) ?? { holder: undefined, queue: new Map<string, Waiter>() };
    if (entry.holder && entry.holder.endsAt <= now) entry.holder = undefined;
    const result = work(entry, now);
    if (entry.holder || entry.queue.size > 0) this.locks.set(name, entry);
    else this.locks.delete(name);
    return result;
  }

  /**
   * Grants a free lock to the first waiter that can be reached, and answers its claim. A waiter that nobody listens for keeps
   * its place and is passed over, until it asks again or its time is up.
   * @param caller the claim of a running acquire: alive by definition, found here when it is its turn, granted by the caller
   */
  private serve(name: string, entry: Entry, now: number, caller?: string): string | undefined {
    for (const [claim, waiter] of entry.queue) {
      if (claim === caller) return claim;
      if (waiter.aliveUntil < now) {
        entry.queue.delete(claim);
        continue;
      }
      const client = clientOf(claim);
      const reachable = waiter.standing === 'asked' || (waiter.standing === 'heard' && this.audience.hears(client));
      waiter.standing = 'deaf';
      if (!reachable) continue;
      const { lease, reserve } = waiter;
      // Provisional: whoever is not heard of within the window stands in the queue again, at the same place, as deaf.
      const length = Math.min(lease, claimWindow);
      const { fencingToken } = (entry.holder = this.grant(claim, now, length, reserve, false));
      const tokensUntil = fencingToken + reserve;
      this.audience.publish(client, { name, claim, fencingToken, tokensUntil, grantedAt: now, length });
      return claim;
    }
    return undefined;
  }

  private grant(claim: string, now: number, length: number, reserve: number, confirmed: boolean): Holder {
    // The clock in µs; one more than the register when reservations have outrun the clock.
    const fencingToken = Math.max(this.register + 1, Math.floor(now * 1000));
    this.register = fencingToken + reserve;
    return { claim, fencingToken, endsAt: now + length, confirmed };
  }

  private granted({ queue }: Entry, holder: Holder, now: number, lease: number, reserve: number): Answer {
    if (!holder.confirmed) {
      // It fetches a grant that was pushed to it: it is alive, so it gets its whole lease now.
      queue.delete(holder.claim);
      holder.confirmed = true;
      holder.endsAt = now + lease;
    }
    const { fencingToken, endsAt } = holder;
    const tokensUntil = this.raise(fencingToken + reserve);
    return { status: 'granted', fencingToken, rest: endsAt - now, tokensUntil, othersWait: queue.size > 0 };
  }

  /** Whoever has a token of a lock may use those behind it up to the register: every later grant gets a larger one. */
  private raise(top: number): number {
    return (this.register = Math.max(this.register, top));
  }
}

/** Every claim id is `clientId:n`. */
function clientOf(claim: string): string {
  return claim.slice(0, claim.indexOf(':'));
}
