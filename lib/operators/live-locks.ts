import type { LockSubject } from '../diagnostics/channels.js';
import type { HeldLock, Listed, WaitedForLock, WaitingFlow } from './activity-record.js';
import type { Caller } from '../core/caller.js';
import type { Hold } from '../core/hold.js';
import type { LocalQueue } from '../core/local-queue.js';
import { handlesOf } from '../core/lock-flow.js';
import { LockHandle } from '../core/lock-handle.js';
import { anyName, kindOfName } from '../diagnostics/name-kind.js';
import type { LockClient } from '../core/lock-client.js';
import type { ResolvedLockOptions } from '../core/options.js';
import type { LiveConnection } from '../diagnostics/live-connections.js';
import { Turns } from '../diagnostics/turns.js';

/** Locks that a waiting caller is shown to hold, and callers of one name that are shown with theirs. */
const mostInside = 3;
const mostFlows = 3;
/** A hold of this age (ms) that also exceeds its lease, or half of its `maxHold`, is long. */
const leastLong = 10_000;

/** An election of this process. */
export interface OwnElection {
  readonly isLeader: boolean;
  /** Of its lock, in the latest campaign. Undefined when this process was never a candidate. */
  readonly terms: ResolvedLockOptions | undefined;
  /** True for the options of its own request for the lock. */
  isCandidate(options: ResolvedLockOptions): boolean;
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

interface WaitingCallers {
  readonly count: number;
  /** The one that waits longest. */
  readonly first: Caller;
  /** The first of those that are inside other locks. */
  readonly nested: readonly Caller[];
}

/** What callers of this process wait for. */
export interface LiveWaits {
  readonly contended: Listed<WaitedForLock>;
  /** Callers that wait, by the kind of the name. */
  readonly callers: ReadonlyMap<string, number>;
}

/** What this process holds. */
interface LiveHolds {
  /** Elections that it leads. */
  readonly leads: Listed<HeldLock>;
  /** Longer than expected. */
  readonly long: Listed<HeldLock>;
  /** The others. */
  readonly holds: Listed<HeldLock>;
}

/** Reads the live state of a client, for people and gauges. It sends nothing, and no lock waits for it. */
export class LiveLocks implements LiveConnection {
  /** Hidden: loggers and gauges reach this object, and the client has its id. */
  readonly #client: LockClient;
  readonly #elections: ReadonlyMap<string, OwnElection>;

  /** @param elections by name */
  constructor(client: LockClient, elections: ReadonlyMap<string, OwnElection>) {
    this.#client = client;
    this.#elections = elections;
  }

  get connection(): string {
    return this.#client.observation.connection;
  }

  *heldLocks(): Iterable<LockSubject> {
    for (const { name, options } of this.#client.holds) yield this.subjectOf(name, options);
  }

  *waitingCallers(): Iterable<LockSubject> {
    for (const queue of this.#client.everyQueue()) {
      for (const { options } of queue.waitingCallers()) yield this.subjectOf(queue.name, options);
    }
  }

  *candidacies(): Iterable<readonly [LockSubject, isLeader: boolean]> {
    for (const [name, { terms, isLeader }] of this.#elections) if (terms) yield [this.subjectOf(name, terms), isLeader];
  }

  availability(): Iterable<readonly [server: string, isAvailable: boolean]> {
    const { backend } = this.#client;
    return backend.availability?.() ?? [[backend.label ?? 'backend', true]];
  }

  /** @param most names, the longest wait first */
  async waits(most: number): Promise<LiveWaits> {
    const { clock, observation } = this.#client;
    const now = clock.now();
    const byKey = new Map<string, WaitedForLock>();
    const callers = new Map<string, number>();
    await new Turns(() => clock.now()).each(this.#client.everyQueue(), (queue) => {
      const found = this.waitingIn(queue);
      if (!found) return;
      const { count, first, nested } = found;
      const subject = observation.subjectOf(queue.name, first.options);
      // Operators see the name itself as well.
      const kind = subject.template === anyName ? kindOfName(subject.key) : subject.template;
      callers.set(kind, (callers.get(kind) ?? 0) + count);
      const longest = Math.floor(now - first.calledAt);
      const flows = nested.flatMap((caller) => this.flowOf(caller, now));
      const lock = { ...partyOf(subject), callers: count, longest, holder: queue.holder, flows };
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
    const { clock, holds } = this.#client;
    const now = clock.now();
    const lists = {
      leads: new Largest<HeldLock>(most),
      long: new Largest<HeldLock>(most),
      holds: new Largest<HeldLock>(most),
    };
    await new Turns(() => clock.now()).each(holds, (hold) => {
      if (!hold.isUsed || hold.lost) return;
      const age = now - hold.acquiredAt;
      const list = this.isCandidate(hold) ? 'leads' : isLong(hold, age) ? 'long' : 'holds';
      lists[list].add(age, () => this.describe(hold, age, now));
    });
    return { leads: lists.leads.listed, long: lists.long.listed, holds: lists.holds.listed };
  }

  /** The callers that wait behind others, without candidates of an election, whose wait is no contention. Undefined when none does. */
  private waitingIn(queue: LocalQueue): WaitingCallers | undefined {
    let count = 0;
    let first: Caller | undefined;
    const nested: Caller[] = [];
    for (const caller of queue.waitingCallers()) {
      if (this.isCandidate({ name: queue.name, options: caller.options })) continue;
      count++;
      if (!first || caller.calledAt < first.calledAt) first = caller;
      // Of callers that are inside the same holds one is enough.
      if (caller.around && nested.length < mostFlows && nested.every(({ around }) => around !== caller.around))
        nested.push(caller);
    }
    return first && { count, first, nested };
  }

  private isCandidate({ name, options }: Pick<Hold, 'name' | 'options'>): boolean {
    return this.#elections.get(name)?.isCandidate(options) ?? false;
  }

  private subjectOf(key: string, options: ResolvedLockOptions): LockSubject {
    return this.#client.observation.subjectOf(key, options);
  }

  /** What a waiting caller holds. None when all of it has ended. */
  private flowOf({ around, calledAt }: Caller, now: number): WaitingFlow[] {
    const holds: Array<WaitingFlow['holds'][number]> = [];
    for (const handle of handlesOf(around)) {
      const isKnown = LockHandle.hostOf(handle) !== this.#client || holds.some(({ key }) => key === handle.key);
      if (holds.length < mostInside && !isKnown)
        holds.push({ key: handle.key, kind: LockHandle.holdOf(handle).claim.kind });
    }
    return holds.length > 0 ? [{ waited: Math.floor(now - calledAt), holds }] : [];
  }

  private describe(hold: Hold, age: number, now: number): HeldLock {
    const { name, options, fencingToken, lease, validUntil } = hold;
    return {
      ...partyOf(this.subjectOf(name, options)),
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
