import type { LockSubject } from '../diagnostics/channels.js';
import type { HeldLock, Listed, WaitedForLock, WaitingFlow } from './activity-record.js';
import type { Caller } from './caller.js';
import type { Hold } from './hold.js';
import type { LocalQueue } from './local-queue.js';
import { handlesOf } from './lock-flow.js';
import { LockHandle } from './lock-handle.js';
import { anyName, kindOfName } from './name-kind.js';
import type { Observation } from './observation.js';
import { Turns } from './turns.js';

/** Locks that a waiting caller is shown to hold, and callers of one name that are shown with theirs. */
const mostInside = 3;
const mostFlows = 3;
/** A hold of this age (ms) that also exceeds its lease, or half of its `maxHold`, is long. */
const leastLong = 10_000;

/** What it needs from its client. */
export interface LiveLocksHost {
  readonly observation: Observation;
  now(): number;
  holds(): Iterable<Hold>;
  queues(): Iterable<LocalQueue>;
  isOwn(handle: LockHandle): boolean;
}

/** The `most` entries with the largest weight, in order. */
class Largest<T> {
  private readonly entries: Array<{ readonly weight: number; readonly item: T }> = [];
  private count = 0;

  constructor(private readonly most: number) {}

  /** @param item made only when it is among them */
  add(weight: number, item: () => T): void {
    this.count++;
    const { entries } = this;
    if (entries.length === this.most && weight <= entries.at(-1)!.weight) return;
    const place = entries.findIndex((entry) => entry.weight < weight);
    entries.splice(place < 0 ? entries.length : place, 0, { weight, item: item() });
    if (entries.length > this.most) entries.pop();
  }

  get listed(): Listed<T> {
    return { first: this.entries.map(({ item }) => item), more: this.count - this.entries.length };
  }
}

/** What callers of this process wait for. */
export interface LiveWaits {
  readonly contended: Listed<WaitedForLock>;
  /** Callers that wait, by the kind of the name. */
  readonly callers: ReadonlyMap<string, number>;
}

/** What this process holds. */
export interface LiveHolds {
  /** Elections that it leads. */
  readonly leads: Listed<HeldLock>;
  /** Longer than expected. */
  readonly long: Listed<HeldLock>;
  /** The others. */
  readonly holds: Listed<HeldLock>;
}

/** Reads the live state of a client for people. It sends nothing, and no lock waits for it. */
export class LiveLocks {
  /** Hidden, as in Activity. */
  readonly #host: LiveLocksHost;

  constructor(host: LiveLocksHost) {
    this.#host = host;
  }

  /** @param most names, the longest wait first */
  async waits(most: number): Promise<LiveWaits> {
    const host = this.#host;
    const now = host.now();
    const byKey = new Map<string, WaitedForLock>();
    const callers = new Map<string, number>();
    await new Turns(() => host.now()).each(host.queues(), (queue) => {
      const found = queue.waitingHere;
      if (!found) return;
      const { count, first, nested, holder } = found;
      const subject = host.observation.subjectOf(queue.name, first.options);
      // Operators see the name itself as well.
      const kind = subject.template === anyName ? kindOfName(subject.key) : subject.template;
      callers.set(kind, (callers.get(kind) ?? 0) + count);
      const longest = Math.floor(now - first.calledAt);
      const flows = nested.flatMap((caller) => this.flowOf(caller, now));
      const lock = { ...partyOf(subject), callers: count, longest, holder, flows };
      const known = byKey.get(queue.name);
      byKey.set(queue.name, known ? together(known, lock) : lock);
    });
    const largest = new Largest<WaitedForLock>(most);
    for (const lock of byKey.values()) largest.add(lock.longest, () => lock);
    return { contended: largest.listed, callers };
  }

  /**
   * What this process holds, the oldest first.
   * @param most in each list
   */
  async holds(most: number): Promise<LiveHolds> {
    const now = this.#host.now();
    const lists = {
      leads: new Largest<HeldLock>(most),
      long: new Largest<HeldLock>(most),
      holds: new Largest<HeldLock>(most),
    };
    await new Turns(() => this.#host.now()).each(this.#host.holds(), (hold) => {
      if (!hold.isUsed || hold.lost) return;
      const age = now - hold.acquiredAt;
      const list = hold.options.isElection ? 'leads' : isLong(hold, age) ? 'long' : 'holds';
      lists[list].add(age, () => this.describe(hold, age, now));
    });
    return { leads: lists.leads.listed, long: lists.long.listed, holds: lists.holds.listed };
  }

  /** What a waiting caller holds. None when all of it has ended. */
  private flowOf({ around, calledAt }: Caller, now: number): WaitingFlow[] {
    const holds: Array<WaitingFlow['holds'][number]> = [];
    for (const handle of handlesOf(around)) {
      const isKnown = !this.#host.isOwn(handle) || holds.some(({ key }) => key === handle.key);
      if (holds.length < mostInside && !isKnown)
        holds.push({ key: handle.key, kind: LockHandle.holdOf(handle).claim.kind });
    }
    return holds.length > 0 ? [{ waited: Math.floor(now - calledAt), holds }] : [];
  }

  private describe(hold: Hold, age: number, now: number): HeldLock {
    const { name, options, fencingToken, lease, validUntil } = hold;
    return {
      ...partyOf(this.#host.observation.subjectOf(name, options)),
      fencingToken,
      heldFor: Math.floor(age),
      lease,
      leaseLeft: Math.max(0, Math.floor(validUntil - now)),
      maxHold: options.maxHold === Number.POSITIVE_INFINITY ? undefined : options.maxHold,
    };
  }
}

function isLong({ lease, options: { maxHold } }: Hold, age: number): boolean {
  const isEndless = maxHold === Number.POSITIVE_INFINITY;
  return age >= leastLong && age >= (isEndless ? lease : maxHold / 2);
}

/** A name has several queues where each caller waits for itself: readers, permits, strict fairness. */
function together(one: WaitedForLock, other: WaitedForLock): WaitedForLock {
  const [first, second] = one.longest >= other.longest ? [one, other] : [other, one];
  const flows = [...first.flows, ...second.flows].slice(0, mostFlows);
  return { ...first, callers: one.callers + other.callers, flows };
}

const partyOf = ({ key, template: name, kind, method, label }: LockSubject) => ({ key, name, kind, method, label });
