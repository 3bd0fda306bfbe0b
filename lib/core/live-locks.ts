import type { LockSubject } from '../diagnostics/channels.js';
import type { HeldLock, Listed, WaitedForLock } from './activity-record.js';
import type { Hold } from './hold.js';
import type { LocalQueue } from './local-queue.js';
import { type FlowNode, handlesOf } from './lock-flow.js';
import type { LockHandle } from './lock-handle.js';
import { anyName, kindOfName } from './name-kind.js';
import { setImmediate } from '../platform.js';
import type { Observation } from './observation.js';

/** Milliseconds of work after which other work gets a turn. */
const turn = 2;
/** Entries between two looks at the clock. */
const stride = 64;
/** Names that a waiting caller is shown to hold. */
const mostInside = 3;

/** What it needs from its client. */
export interface LiveLocksHost {
  readonly observation: Observation;
  now(): number;
  holds(): Iterable<Hold>;
  queues(): Iterable<LocalQueue>;
  isOwn(handle: LockHandle): boolean;
}

/** Calls `each` with every item, a few at a time: a process may hold a million locks. */
async function inTurns<T>(items: Iterable<T>, each: (item: T) => void): Promise<void> {
  let count = 0;
  let until = performance.now() + turn;
  for (const item of items) {
    each(item);
    if (++count % stride !== 0 || performance.now() < until) continue;
    await new Promise((resolve) => setImmediate(resolve));
    until = performance.now() + turn;
  }
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
    await inTurns(host.queues(), (queue) => {
      const found = queue.waitingHere;
      if (!found) return;
      const { count, first, nested, holder } = found;
      const subject = host.observation.subjectOf(queue.name, first.options);
      // Operators see the name itself as well.
      const kind = subject.name === anyName ? kindOfName(subject.key) : subject.name;
      callers.set(kind, (callers.get(kind) ?? 0) + count);
      const longest = Math.floor(now - first.calledAt);
      const inside = this.keysOf(nested?.around);
      const lock = { ...partyOf(subject), callers: count, longest, holder, inside };
      const known = byKey.get(queue.name);
      byKey.set(queue.name, known ? together(known, lock) : lock);
    });
    const largest = new Largest<WaitedForLock>(most);
    for (const lock of byKey.values()) largest.add(lock.longest, () => lock);
    return { contended: largest.listed, callers };
  }

  /**
   * What this process holds, the oldest first.
   * @param isMeant of a hold of this age (ms)
   */
  async holds(most: number, isMeant: (hold: Hold, age: number) => boolean = () => true): Promise<Listed<HeldLock>> {
    const now = this.#host.now();
    const largest = new Largest<HeldLock>(most);
    await inTurns(this.#host.holds(), (hold) => {
      const age = now - hold.acquiredAt;
      if (hold.isUsed && !hold.lost && isMeant(hold, age)) largest.add(age, () => this.describe(hold, age, now));
    });
    return largest.listed;
  }

  /** What a waiting caller holds. */
  private keysOf(around: FlowNode | undefined): readonly string[] {
    const keys: string[] = [];
    for (const handle of handlesOf(around)) {
      if (keys.length < mostInside && this.#host.isOwn(handle) && !keys.includes(handle.key)) keys.push(handle.key);
    }
    return keys;
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

/** A name has several queues where each caller waits for itself: readers, permits, strict fairness. */
function together(one: WaitedForLock, other: WaitedForLock): WaitedForLock {
  const [first, second] = one.longest >= other.longest ? [one, other] : [other, one];
  const inside = first.inside.length > 0 ? first.inside : second.inside;
  return { ...first, callers: one.callers + other.callers, inside };
}

const partyOf = ({ key, name, kind, where: method, label }: LockSubject) => ({ key, name, kind, method, label });
