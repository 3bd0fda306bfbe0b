import { claimWindow } from '../../core/defaults.js';
import type {
  AdoptRequest,
  HolderRef,
  LockDemand,
  LockKind,
  LockSnapshot,
  PresentHolder,
  RenewRequest,
} from '../../core/lock-backend.js';
import type { Answer, Audience, Question, Renewed, Standing } from './table-messages.js';

interface Holder {
  readonly claim: string;
  readonly fencingToken: number;
  /** 1 for kinds without permits. */
  readonly permits: number;
  endsAt: number;
  /** False: the lock was granted to it by a message, and it has not confirmed it yet. */
  confirmed: boolean;
  /** Released by its holder; no other claim gets it before `endsAt`. */
  kept?: boolean;
}

interface Waiter extends LockDemand {
  readonly lease: number;
  readonly reserve: number;
  readonly aliveUntil: number;
  readonly askedAt: number;
  /** When it joined the queue. */
  readonly since: number;
  standing: Standing;
  /** When it asks again, at the latest. */
  asksAt: number;
}

/** A grant was pushed to a client, and is not confirmed. */
interface Call {
  readonly at: number;
  readonly lapsesAt: number;
}

/** The holders and waiters of a name. */
interface Entry {
  /** How it is held; without meaning when it is free. */
  kind: LockKind;
  /** How many permits there are; undefined: set by the next grant. */
  limit: number | undefined;
  /** By claim: one, or several that share it. */
  readonly holders: Map<string, Holder>;
  /** In order of arrival. The claim of a provisional grant stays in it until it is confirmed. */
  readonly queue: Map<string, Waiter>;
  /** By client. */
  readonly calls: Map<string, Call>;
}

/**
 * The locks of one memory server: for each name its holders, and a queue of claims.
 *
 * Each method is one atomic step, and does what the script of the same name does in Redis (../redis/scripts). It can be read in their
 * place: what a reply means, which claim is served next, which token comes out.
 */
export class LockTable {
  /** A private field: holders and waiters have the ids of their claims. */
  readonly #locks = new Map<string, Entry>();
  /** The largest fencing token that was issued or reserved; undefined before the first. */
  private register: number | undefined;

  /** @param clock ms since 1970; it never goes back */
  constructor(
    private readonly clock: () => number,
    private readonly audience: Audience,
  ) {}

  /** Requests the lock for one claim. A claim that holds gets the same grant again, a claim that waits keeps its place. */
  acquire({ name, id: claim, lease, reserve, patience, ...demand }: Question): Answer {
    return this.step(name, (entry, now) => {
      const own = entry.holders.get(claim);
      if (own) return this.granted(entry, own, now, lease, reserve);
      if (clash(entry, demand)) return mismatch(entry, claim);
      // A claim that begins to ask sets the number of permits: when there are more now, they are given out at once.
      if (demand.kind === 'permits' && !entry.queue.has(claim)) entry.limit = demand.limit;

      // A writer is blocked by holders; readers and permits may only have to let other waiters pass first.
      const first = isOpenTo(entry, demand) ? this.serve(name, entry, now, claim) : undefined;
      if (clash(entry, demand)) return mismatch(entry, claim);
      // Its turn, or no live claim is ahead: the claims that are still queued could not be reached.
      if ((first === claim || first === undefined) && fits(entry, demand)) {
        leave(entry, claim);
        const holder = this.grant(entry, claim, now, lease, { ...demand, reserve }, true);
        // Others behind it may fit as well.
        if (demand.kind !== 'exclusive') this.serve(name, entry, now);
        if (demand.kind !== 'exclusive' || lease < claimWindow) this.tellOf(name, entry, now);
        return this.granted(entry, holder, now, lease, reserve);
      }

      const rest = restOf(entry) - now;
      const holder = earliestOf(entry, now);
      if (patience === 0) return { status: 'contended', leaseLeft: rest, holder };
      // Its client does not listen, but the claim is alive, since it asks. It is granted the lock without a message, and its next request
      // fetches the grant.
      const standing = this.audience.hears(clientOf(claim)) ? 'listening' : 'polling';
      // The claim behind a holder finds out its crash: it asks before an unconfirmed grant ahead of it could have ended.
      const pause = isBehindAnother(entry, claim) ? Math.min(rest, claimWindow) : rest;
      // A Map keeps the place of an existing key.
      entry.queue.set(claim, {
        ...demand,
        lease,
        reserve,
        standing,
        askedAt: now,
        aliveUntil: now + patience,
        since: entry.queue.get(claim)?.since ?? now,
        asksAt: now + pause,
      });
      return { status: 'queued', rest: pause, listening: standing === 'listening', holder };
    });
  }

  /**
   * Ends a claim: frees what it holds, and hands it on in the same step; else removes it from the queue.
   * @param keep ms for which the lock stays taken after the release
   */
  release(name: string, claim: string, keep = 0): 'released' | 'cancelled' | 'absent' {
    return this.step(name, (entry, now) => {
      const holder = entry.holders.get(claim);
      const waited = leave(entry, claim);
      if (holder?.kept) return 'absent';
      if (holder && keep > 0) {
        entry.holders.set(claim, { ...holder, endsAt: now + keep, confirmed: true, kept: true });
        this.tellOf(name, entry, now);
        return 'released';
      }
      entry.holders.delete(claim);
      if (entry.kind !== 'exclusive' || entry.holders.size === 0) this.serve(name, entry, now);
      // This claim may have been the one that was notified of an end.
      if (entry.kind !== 'exclusive' || waited) this.tellOf(name, entry, now);
      if (holder) return 'released';
      return waited ? 'cancelled' : 'absent';
    });
  }

  /** Extends a lease, never shortens it. The first renewal of a provisional grant makes it a full one. */
  renew({ name, id: claim, fencingToken, lease, reserve, least = 0 }: RenewRequest): Renewed | 'lost' {
    return this.step(name, (entry, now) => {
      const holder = entry.holders.get(claim);
      if (!holder || !this.knows(holder, fencingToken)) return 'lost';
      if (!holder.confirmed) leave(entry, claim);
      holder.confirmed = true;
      holder.endsAt = Math.max(holder.endsAt, now + lease);
      const rest = holder.endsAt - now;
      if (reserve === 0 && least === 0) return { rest, tokensUntil: 0, othersWait: false };
      return { rest, tokensUntil: this.reserve(fencingToken, reserve, now, least), othersWait: othersWait(entry) };
    });
  }

  /** Forgets the holders, as when their key was evicted or deleted: without a message; the next request finds the lock free. */
  lose(name: string): boolean {
    return this.step(name, ({ holders }) => {
      const held = holders.size > 0;
      holders.clear();
      return held;
    });
  }

  /** Forgets everything, as a server that restarts without its data. */
  forgetAll(): void {
    this.#locks.clear();
    this.register = undefined;
  }

  /** The holders and waiters, in the form of the port. */
  snapshot(name: string, most: number): LockSnapshot {
    return this.step(name, ({ kind, limit, holders, queue }, now) => ({
      kind: holders.size > 0 ? kind : undefined,
      limit: holders.size > 0 && kind === 'permits' ? limit : undefined,
      holders: [...holders.values()].map(({ claim, fencingToken, endsAt, confirmed, kept, permits }) => ({
        id: claim,
        fencingToken,
        heldFor: heldFor(fencingToken, now),
        leaseLeft: endsAt - now,
        state: kept ? 'kept' : confirmed ? 'held' : 'provisional',
        permits,
      })),
      waiters: [...queue]
        .filter(([claim, { aliveUntil }]) => aliveUntil >= now && !holders.has(claim))
        .slice(0, most)
        .map(([claim, { since, kind: wanted, permits, standing }]) => ({
          ...{ id: claim, waited: now - since, kind: wanted, permits, reachable: standing !== 'unreachable' },
        })),
    }));
  }

  /** Takes the lock from the named holders, and hands it on. Returns the claims that held. */
  revoke(name: string, named: readonly HolderRef[]): string[] {
    return this.step(name, (entry, now) => {
      const revoked = named
        .filter(({ id: claim, fencingToken }) => entry.holders.get(claim)?.fencingToken === fencingToken)
        .map(({ id: claim }) => claim);
      if (revoked.length === 0) return [];
      for (const claim of revoked) {
        leave(entry, claim);
        entry.holders.delete(claim);
      }
      this.serve(name, entry, now);
      for (const claim of revoked) this.audience.revoked(clientOf(claim), { name, id: claim });
      return revoked;
    });
  }

  /** Moves a hold to another claim, with its token. One of several adopters gets it. */
  adopt({ name, id: claim, from, fencingToken, lease }: AdoptRequest): { readonly rest: number } | 'gone' | 'taken' {
    return this.step(name, (entry, now) => {
      const { holders } = entry;
      const mine = holders.get(claim);
      if (mine?.fencingToken === fencingToken) {
        mine.endsAt = Math.max(mine.endsAt, now + lease);
        return { rest: mine.endsAt - now };
      }
      const holder = holders.get(from);
      if (holder && this.knows(holder, fencingToken)) {
        holders.delete(from);
        leave(entry, from);
        holders.set(claim, { ...holder, claim, fencingToken, endsAt: now + lease, confirmed: true });
        if (now + lease < holder.endsAt) this.tellOf(name, entry, now);
        return { rest: lease };
      }
      const isHeldElsewhere = [...holders.values()].some(
        (other) => other.claim !== from && other.fencingToken === fencingToken,
      );
      return isHeldElsewhere ? 'taken' : 'gone';
    });
  }

  /** The names of the held locks. */
  held(): string[] {
    const now = this.clock();
    const isHeld = ({ holders }: Entry): boolean => [...holders.values()].some(({ endsAt }) => endsAt > now);
    return [...this.#locks].filter(([, entry]) => isHeld(entry)).map(([name]) => name);
  }

  /** How many names are remembered. */
  get size(): number {
    return this.#locks.size;
  }

  /** Reads the clock once, first ends leases that are over, and forgets a name with neither holder nor queue. */
  private step<T>(name: string, work: (entry: Entry, now: number) => T): T {
    const now = this.clock();
    const entry = this.#locks.get(name) ?? unused();
    for (const [claim, { endsAt }] of entry.holders) if (endsAt <= now) entry.holders.delete(claim);
    if (entry.holders.size === 0) entry.limit = undefined;
    const result = work(entry, now);
    if (entry.holders.size > 0 || entry.queue.size > 0) this.#locks.set(name, entry);
    else this.#locks.delete(name);
    return result;
  }

  /**
   * Grants the lock to the waiters that can be reached, in order, as long as the next one fits. Returns the first one that has to wait on;
   * undefined when there is none. A waiter that is not reached keeps its place and is passed over, until it asks again or its time is up.
   * @param caller the claim of a running acquire. It is alive; when it is its turn, it is returned, and the caller grants it.
   */
  private serve(name: string, entry: Entry, now: number, caller?: string): string | undefined {
    for (const [claim, waiter] of entry.queue) {
      if (claim === caller) return claim;
      if (entry.holders.has(claim)) continue;
      if (waiter.aliveUntil < now) {
        bury(entry, claim, waiter, now);
        continue;
      }
      const reachable = this.isReachable(entry, claim, waiter, now);
      if (reachable && !fits(entry, waiter)) return claim;
      waiter.standing = 'unreachable';
      if (!reachable) continue;
      // Provisional: a claim that does not confirm within the window is unreachable from then on.
      const length = Math.min(waiter.lease, claimWindow);
      const client = clientOf(claim);
      const { fencingToken, tokensUntil } = this.grant(entry, claim, now, length, waiter, false);
      // The first unconfirmed grant counts: after it has lapsed, a silent client gets no more.
      if (!unansweredCall(entry, claim, waiter)) entry.calls.set(client, { at: now, lapsesAt: now + length });
      this.audience.publish(client, { name, id: claim, fencingToken, tokensUntil, grantedAt: now, length });
      if (waiter.kind === 'exclusive' && length < claimWindow) this.tellOf(name, entry, now);
    }
    return undefined;
  }

  /**
   * A lease ends earlier than the waiters may know: sends the time to the first that can be reached. A lease that ends by itself is that of a
   * process that died, most likely: when the first waiter is of the same process, the first one of another is notified, too.
   */
  private tellOf(name: string, entry: Entry, now: number): void {
    if (entry.holders.size === 0) return;
    const { claim: by, endsAt: ends } = decidingOf(entry);
    const own = clientOf(by);
    let told = false;
    for (const [claim, waiter] of entry.queue) {
      const client = clientOf(claim);
      if (!waits(entry, claim, waiter) || !this.audience.hears(client) || (told && client === own)) continue;
      if (waiter.asksAt > ends) {
        waiter.asksAt = ends;
        this.audience.freeAfter(client, { name, id: claim }, ends - now);
      }
      if (client !== own) return;
      told = true;
    }
  }

  private isReachable(entry: Entry, claim: string, waiter: Waiter, now: number): boolean {
    const { standing } = waiter;
    const client = clientOf(claim);
    // A client that has let a grant lapse is stopped, or its connection is dead: only claims that have asked since are served.
    const call = unansweredCall(entry, claim, waiter);
    if (call && call.lapsesAt <= now) return false;
    return standing === 'polling' || (standing === 'listening' && this.audience.hears(client));
  }

  private grant(
    entry: Entry,
    claim: string,
    now: number,
    length: number,
    { kind, permits, limit, reserve }: LockDemand & { readonly reserve: number },
    confirmed: boolean,
  ): Holder & { readonly tokensUntil: number } {
    // The clock in µs, or one more than the register. Reserved tokens are between the two, never ahead of the clock.
    const clock = Math.floor(now * 1000);
    const first = this.register === undefined ? clock : this.register + 1;
    const fencingToken = Math.max(first, this.register === undefined ? clock : clock - reserve);
    this.register = Math.max(clock, fencingToken);
    const tokensUntil = Math.min(this.register, fencingToken + reserve);
    if (entry.holders.size === 0) entry.kind = kind;
    entry.limit ??= limit;
    const holder = { claim, fencingToken, permits, endsAt: now + length, confirmed };
    entry.holders.set(claim, holder);
    return { ...holder, tokensUntil };
  }

  private granted(entry: Entry, holder: Holder, now: number, lease: number, reserve: number): Answer {
    if (!holder.confirmed) {
      // It fetches a grant that was pushed to it: it is alive, so it gets its whole lease now. Never less than the message has promised.
      leave(entry, holder.claim);
      holder.confirmed = true;
      holder.endsAt = Math.max(holder.endsAt, now + lease);
    }
    const { fencingToken, endsAt } = holder;
    const tokensUntil = this.reserve(fencingToken, reserve, now);
    return { status: 'granted', fencingToken, rest: endsAt - now, tokensUntil, othersWait: othersWait(entry) };
  }

  /** A holder may send a later token of its block, if it was given out; a smaller one belongs to an earlier grant of the same claim. */
  private knows({ kept, fencingToken }: Holder, token: number): boolean {
    return !kept && fencingToken <= token && (fencingToken === token || token <= (this.register ?? 0));
  }

  /** A holder may use the tokens behind its own up to the register: each later grant gets a larger one. */
  private reserve(token: number, reserve: number, now: number, least = 0): number {
    const top = Math.max(token, least, Math.min(token + reserve, Math.floor(now * 1000)));
    return (this.register = Math.max(this.register ?? 0, top));
  }
}

const unused = (): Entry => ({
  ...{ kind: 'exclusive', limit: undefined, holders: new Map(), queue: new Map(), calls: new Map() },
});

/** The claim was heard of, or was released. Returns true when it waited. */
function leave({ queue, calls }: Entry, claim: string): boolean {
  calls.delete(clientOf(claim));
  return queue.delete(claim);
}

const waits = ({ holders }: Entry, claim: string, { standing }: Waiter): boolean =>
  standing !== 'unreachable' && !holders.has(claim);

const othersWait = (entry: Entry): boolean => [...entry.queue].some(([claim, waiter]) => waits(entry, claim, waiter));

/**
 * Removes a waiter whose time is up. The mark that its client let a grant lapse stays for as long as a claim may wait that asked before.
 */
function bury({ queue, calls }: Entry, claim: string, { aliveUntil, askedAt }: Waiter, now: number): void {
  const client = clientOf(claim);
  const call = calls.get(client);
  if (call && call.at + aliveUntil - askedAt < now) calls.delete(client);
  queue.delete(claim);
}

/** The grant that was pushed to its client, if the claim has not asked since. */
function unansweredCall({ calls }: Entry, claim: string, { askedAt }: Waiter): Call | undefined {
  const call = calls.get(clientOf(claim));
  return call && askedAt <= call.at ? call : undefined;
}

function isBehindAnother(entry: Entry, claim: string): boolean {
  for (const [other, waiter] of entry.queue) {
    if (other === claim) break;
    if (waits(entry, other, waiter)) return true;
  }
  return false;
}

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

function mismatch(entry: Entry, claim: string): Answer {
  leave(entry, claim);
  return { status: 'mismatch', held: entry.kind };
}

/**
 * The holder whose lease keeps others out: the last one of readers, the first one of permits, since one permit may be enough. Of leases that
 * end at once, by the order of the claims, as Redis sorts them.
 */
function decidingOf({ kind, holders }: Entry): Holder {
  const before = (a: Holder, b: Holder): boolean => a.endsAt < b.endsAt || (a.endsAt === b.endsAt && a.claim < b.claim);
  return [...holders.values()].reduce((one, other) => (before(one, other) === (kind === 'permits') ? one : other));
}

/** When that lease ends. */
const restOf = (entry: Entry): number => decidingOf(entry).endsAt;

/** The token is the clock at the grant, in µs, or a little more when tokens were issued faster. */
const heldFor = (fencingToken: number, now: number): number => Math.max(0, now - fencingToken / 1000);

/** The holder with the lowest token: the scripts compare the first sixteen whose leases end. */
function earliestOf({ holders }: Entry, now: number): PresentHolder | undefined {
  let first: Holder | undefined;
  for (const holder of holders.values()) if (!first || holder.fencingToken < first.fencingToken) first = holder;
  return first && { id: first.claim, fencingToken: first.fencingToken, heldFor: heldFor(first.fencingToken, now) };
}

/** Every claim id is `clientId:n`. */
export function clientOf(claim: string): string {
  return claim.slice(0, claim.indexOf(':'));
}
