import type {
  AdoptRequest,
  HolderRef,
  LockDemand,
  LockKind,
  LockSnapshot,
  RenewRequest,
} from '../../core/lock-backend.js';
import type { Answer, Audience, LockView, Question, Renewed, Standing } from './table-messages.js';

/** Longest time in ms that a grant lasts for a waiter of which nothing is heard. */
export const claimWindow = 3000;

interface Holder {
  readonly claim: string;
  readonly fencingToken: number;
  /** 1 but for permits. */
  readonly permits: number;
  endsAt: number;
  /** False: it was handed the lock, and nobody has heard of it yet. */
  confirmed: boolean;
  /** Given up by its holder; nobody else gets it before `endsAt`. */
  kept?: boolean;
}

interface Waiter extends LockDemand {
  readonly lease: number;
  readonly reserve: number;
  readonly aliveUntil: number;
  /** When it came. */
  readonly since: number;
  standing: Standing;
}

/** Who holds a name, and who waits for it. */
interface Entry {
  /** How it is held; says nothing where nobody does. */
  kind: LockKind;
  /** How many permits there are; undefined: as many as whoever is granted next says. */
  limit: number | undefined;
  /** By claim: one, or several that share it. */
  readonly holders: Map<string, Holder>;
  /** In order of arrival. The claim of a provisional grant stays in it until it is confirmed. */
  readonly queue: Map<string, Waiter>;
}

/**
 * The locks of one memory server: for each name its holders, and a queue of claims.
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
  acquire({ name, claim, lease, reserve, patience, ...demand }: Question): Answer {
    return this.step(name, (entry, now) => {
      const own = entry.holders.get(claim);
      if (own) return this.granted(entry, own, now, lease, reserve);
      if (clash(entry, demand)) return mismatch(entry, claim);
      // A claim that begins to ask brings the number of permits with it: when there are more, they are given out at once.
      if (demand.kind === 'permits' && !entry.queue.has(claim)) entry.limit = demand.limit;

      // In the way of a writer is somebody who holds; readers and permits may only have to let others pass first.
      const first = isOpenTo(entry, demand) ? this.serve(name, entry, now, claim) : undefined;
      if (clash(entry, demand)) return mismatch(entry, claim);
      // Its turn, or nobody alive is ahead: whoever is still queued could not be reached.
      if ((first === claim || first === undefined) && fits(entry, demand)) {
        entry.queue.delete(claim);
        return this.granted(
          entry,
          this.grant(entry, claim, now, lease, { ...demand, reserve }, true),
          now,
          lease,
          reserve,
        );
      }

      const rest = restOf(entry) - now;
      if (patience === 0) return { status: 'contended', rest };
      // Nobody listens for the claim: it asks, so it is alive. It is served unheard, and its next question fetches the grant.
      const standing = this.audience.hears(clientOf(claim)) ? 'heard' : 'asked';
      // A Map keeps the place of a key that it has.
      const since = entry.queue.get(claim)?.since ?? now;
      entry.queue.set(claim, { ...demand, lease, reserve, standing, aliveUntil: now + patience, since });
      return { status: 'queued', rest, heard: standing === 'heard' };
    });
  }

  /**
   * Gives a claim up: frees what it holds, and hands it on in the same step; else takes it out of the queue.
   * @param keep ms for which its place shall stay taken all the same
   */
  release(name: string, claim: string, keep = 0): 'released' | 'cancelled' | 'absent' {
    return this.step(name, (entry, now) => {
      const holder = entry.holders.get(claim);
      const waited = entry.queue.delete(claim);
      if (holder && keep > 0) {
        entry.holders.set(claim, { ...holder, endsAt: now + keep, confirmed: true, kept: true });
        return 'released';
      }
      entry.holders.delete(claim);
      if (entry.kind !== 'exclusive' || entry.holders.size === 0) this.serve(name, entry, now);
      if (holder) return 'released';
      return waited ? 'cancelled' : 'absent';
    });
  }

  /** Lengthens a lease, never shortens it. The first renewal of a provisional grant makes it a full one. */
  renew({ name, claim, fencingToken, lease, reserve }: RenewRequest): Renewed | 'lost' {
    return this.step(name, ({ holders, queue }, now) => {
      const holder = holders.get(claim);
      // A holder may show a later token of its block; a smaller one is of an earlier grant of the same claim.
      if (!holder || holder.kept || holder.fencingToken > fencingToken) return 'lost';
      if (!holder.confirmed) queue.delete(claim);
      holder.confirmed = true;
      holder.endsAt = Math.max(holder.endsAt, now + lease);
      const rest = holder.endsAt - now;
      if (reserve === 0) return { rest, tokensUntil: 0, othersWait: false };
      return { rest, tokensUntil: this.raise(fencingToken + reserve), othersWait: queue.size > 0 };
    });
  }

  /** Forgets the holders, as when their key was evicted or deleted: nobody is told, the next question finds the lock free. */
  lose(name: string): boolean {
    return this.step(name, ({ holders }) => {
      const held = holders.size > 0;
      holders.clear();
      return held;
    });
  }

  /** Who holds and who waits, as the port tells it. */
  snapshot(name: string, most: number): LockSnapshot {
    return this.step(name, ({ kind, limit, holders, queue }, now) => ({
      kind: holders.size > 0 ? kind : undefined,
      limit: holders.size > 0 && kind === 'permits' ? limit : undefined,
      holders: [...holders.values()].map(({ claim, fencingToken, endsAt, confirmed, kept, permits }) => ({
        claim,
        fencingToken,
        heldFor: Math.max(0, now - fencingToken / 1000),
        leaseLeft: endsAt - now,
        state: kept ? 'kept' : confirmed ? 'full' : 'provisional',
        permits,
      })),
      waiters: [...queue]
        .filter(([claim, { aliveUntil }]) => aliveUntil >= now && !holders.has(claim))
        .slice(0, most)
        .map(([claim, { since, ...demand }]) => ({
          ...{ claim, waited: now - since, kind: demand.kind, permits: demand.permits },
        })),
    }));
  }

  /** Takes the lock from those of the named who hold it, and hands it on. Answers their claims. */
  revoke(name: string, named: readonly HolderRef[]): string[] {
    return this.step(name, (entry, now) => {
      const revoked = named
        .filter(({ claim, fencingToken }) => entry.holders.get(claim)?.fencingToken === fencingToken)
        .map(({ claim }) => claim);
      if (revoked.length === 0) return [];
      for (const claim of revoked) {
        entry.queue.delete(claim);
        entry.holders.delete(claim);
      }
      this.serve(name, entry, now);
      for (const claim of revoked) this.audience.revoked(clientOf(claim), { name, claim });
      return revoked;
    });
  }

  /** Moves a hold to another claim, with its token: of all who try one has it. */
  adopt({ name, claim, from, fencingToken, lease }: AdoptRequest): { readonly rest: number } | 'gone' | 'taken' {
    return this.step(name, ({ holders, queue }, now) => {
      const mine = holders.get(claim);
      if (mine?.fencingToken === fencingToken) {
        mine.endsAt = Math.max(mine.endsAt, now + lease);
        return { rest: mine.endsAt - now };
      }
      const holder = holders.get(from);
      if (holder && !holder.kept && holder.fencingToken <= fencingToken) {
        if (holder.fencingToken < fencingToken && fencingToken > this.register) return 'gone';
        holders.delete(from);
        queue.delete(from);
        holders.set(claim, { ...holder, claim, fencingToken, endsAt: now + lease, confirmed: true });
        return { rest: lease };
      }
      const isHeldElsewhere = [...holders.values()].some(
        (other) => other.claim !== from && other.fencingToken === fencingToken,
      );
      return isHeldElsewhere ? 'taken' : 'gone';
    });
  }

  /** The names that somebody holds. */
  held(): string[] {
    const now = this.clock();
    const isHeld = ({ holders }: Entry): boolean => [...holders.values()].some(({ endsAt }) => endsAt > now);
    return [...this.locks].filter(([, entry]) => isHeld(entry)).map(([name]) => name);
  }

  inspect(name: string): LockView {
    return this.step(name, ({ kind, holders, queue }, now) => {
      const views = [...holders.values()].map(({ claim, fencingToken, endsAt, confirmed, permits }) => ({
        ...{ client: clientOf(claim), fencingToken, leaseLeft: endsAt - now, confirmed, kind, permits },
      }));
      return {
        holder: views[0],
        holders: views,
        waiters: [...queue]
          .filter(([claim, { aliveUntil }]) => aliveUntil >= now && !holders.has(claim))
          .map(([claim, { standing }]) => ({ client: clientOf(claim), standing })),
      };
    });
  }

  /** How many names anything is remembered of. */
  get size(): number {
    return this.locks.size;
  }

  /** The clock is read once; leases that are over end first; a name with neither holder nor queue is forgotten. */
  private step<T>(name: string, work: (entry: Entry, now: number) => T): T {
    const now = this.clock();
    const entry = this.locks.get(name) ?? unused();
    for (const [claim, { endsAt }] of entry.holders) if (endsAt <= now) entry.holders.delete(claim);
    if (entry.holders.size === 0) entry.limit = undefined;
    const result = work(entry, now);
    if (entry.holders.size > 0 || entry.queue.size > 0) this.locks.set(name, entry);
    else this.locks.delete(name);
    return result;
  }

  /**
   * Grants the lock to the waiters that can be reached, in order, as long as the next one fits. Answers the first that has to wait on;
   * undefined when there is none. A waiter that nobody listens for keeps its place and is passed over, until it asks again or its time
   * is up.
   * @param caller the claim of a running acquire: alive by definition, found here when it is its turn, granted by the caller
   */
  private serve(name: string, entry: Entry, now: number, caller?: string): string | undefined {
    for (const [claim, waiter] of entry.queue) {
      if (claim === caller) return claim;
      if (entry.holders.has(claim)) continue;
      if (waiter.aliveUntil < now) {
        entry.queue.delete(claim);
        continue;
      }
      const client = clientOf(claim);
      const reachable = waiter.standing === 'asked' || (waiter.standing === 'heard' && this.audience.hears(client));
      if (reachable && !fits(entry, waiter)) return claim;
      waiter.standing = 'deaf';
      if (!reachable) continue;
      // Provisional: whoever is not heard of within the window stands in the queue again, at the same place, as deaf.
      const length = Math.min(waiter.lease, claimWindow);
      const { fencingToken } = this.grant(entry, claim, now, length, waiter, false);
      const tokensUntil = fencingToken + waiter.reserve;
      this.audience.publish(client, { name, claim, fencingToken, tokensUntil, grantedAt: now, length });
    }
    return undefined;
  }

  private grant(
    entry: Entry,
    claim: string,
    now: number,
    length: number,
    { kind, permits, limit, reserve }: LockDemand & { readonly reserve: number },
    confirmed: boolean,
  ): Holder {
    // The clock in µs; one more than the register when reservations have outrun the clock.
    const fencingToken = Math.max(this.register + 1, Math.floor(now * 1000));
    this.register = fencingToken + reserve;
    if (entry.holders.size === 0) entry.kind = kind;
    entry.limit ??= limit;
    const holder = { claim, fencingToken, permits, endsAt: now + length, confirmed };
    entry.holders.set(claim, holder);
    return holder;
  }

  private granted({ queue, holders }: Entry, holder: Holder, now: number, lease: number, reserve: number): Answer {
    if (!holder.confirmed) {
      // It fetches a grant that was pushed to it: it is alive, so it gets its whole lease now; no less than the message has promised.
      queue.delete(holder.claim);
      holder.confirmed = true;
      holder.endsAt = Math.max(holder.endsAt, now + lease);
    }
    const { fencingToken, endsAt } = holder;
    const tokensUntil = this.raise(fencingToken + reserve);
    const othersWait = [...queue.keys()].some((claim) => !holders.has(claim));
    return { status: 'granted', fencingToken, rest: endsAt - now, tokensUntil, othersWait };
  }

  /** Whoever has a token of a lock may use those behind it up to the register: every later grant gets a larger one. */
  private raise(top: number): number {
    return (this.register = Math.max(this.register, top));
  }
}

const unused = (): Entry => ({ kind: 'exclusive', limit: undefined, holders: new Map(), queue: new Map() });

const isOpenTo = ({ kind, holders }: Entry, wanted: LockDemand): boolean =>
  holders.size === 0 || (kind === wanted.kind && kind !== 'exclusive');

function fits({ kind, limit, holders }: Entry, wanted: LockDemand): boolean {
  if (holders.size === 0) return true;
  if (kind !== wanted.kind || kind === 'exclusive') return false;
  if (kind === 'shared') return true;
  let used = wanted.permits;
  for (const { permits } of holders.values()) used += permits;
  return used <= limit!;
}

/** A name is used with permits or without, not both at once. */
const clash = ({ kind, holders }: Entry, wanted: LockDemand): boolean =>
  holders.size > 0 && (kind === 'permits') !== (wanted.kind === 'permits');

function mismatch({ kind, queue }: Entry, claim: string): Answer {
  queue.delete(claim);
  return { status: 'mismatch', held: kind };
}

/** When a lease ends that keeps others out: the last one, except that any permit that comes back may be enough. */
function restOf({ kind, holders }: Entry): number {
  const ends = [...holders.values()].map(({ endsAt }) => endsAt);
  return kind === 'permits' ? Math.min(...ends) : Math.max(...ends);
}

/** Every claim id is `clientId:n`. */
function clientOf(claim: string): string {
  return claim.slice(0, claim.indexOf(':'));
}
