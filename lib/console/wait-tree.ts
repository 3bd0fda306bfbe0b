import type { ProcessActivity } from '../core/activity-record.js';

/** A caller: its process, its method and its label. */
export interface Party {
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  readonly method: string | undefined;
  readonly label: string | undefined;
}

/** A lock that callers wait for: who holds it, who waits, and who waits for those in turn. */
export interface WaitedLock {
  readonly key: string;
  readonly holder: Party | undefined;
  /** True when its holder waits, over others, for a lock that it holds itself: none of them goes on. */
  readonly isDeadlock: boolean;
  /** True when its waiters are shown at another place. */
  readonly isRepeated: boolean;
  /** Those first that block others. */
  readonly waiters: readonly Waiter[];
  /** How many waiting processes are not shown. */
  readonly moreWaiters: number;
}

interface Waiter extends Party {
  readonly callers: number;
  readonly longest: number;
  /** Locks that one of these callers holds while it waits, and that others wait for. */
  readonly blocks: readonly WaitedLock[];
}

export interface WaitTree {
  /** Locks whose holders wait for no other lock, the longest chain first; and one of each deadlock. */
  readonly roots: readonly WaitedLock[];
  readonly deadlocks: number;
  /** Locks that are not in the tree, because it would be too large. */
  readonly more: number;
}

interface Wait extends Omit<Waiter, 'blocks'> {
  readonly holder: Party | undefined;
  readonly inside: readonly string[];
}

const deepest = 10;
const mostLocks = 100;
const mostWaiters = 10;

/** Who waits for whom: process → lock → process. */
export function waitTree(processes: ReadonlyArray<ProcessActivity & { readonly age: number }>): WaitTree {
  const waits = waitsByKey(processes);
  const cycles = deadlocks(waits);
  const built = new Set<string>();
  const build = (key: string, depth = 0): WaitedLock => {
    const found = waits.get(key)!;
    const isRepeated = built.has(key);
    const isEnd = isRepeated || depth >= deepest || built.size >= mostLocks;
    if (!isEnd) built.add(key);
    const blockedBy = ({ inside }: Wait): string[] => inside.filter((name) => waits.has(name));
    const [blocking, others] = [true, false].map((blocks) =>
      found.filter((wait) => blockedBy(wait).length > 0 === blocks),
    );
    const shown = isEnd ? [] : [...blocking!, ...others!].slice(0, mostWaiters);
    return {
      key,
      holder: found.find(({ holder }) => holder)?.holder,
      isDeadlock: cycles.has(key),
      isRepeated,
      waiters: shown.map((wait) => {
        const { inside: _inside, holder: _holder, ...waiter } = wait;
        return { ...waiter, blocks: blockedBy(wait).map((name) => build(name, depth + 1)) };
      }),
      moreWaiters: found.length - shown.length,
    };
  };
  const held = new Set([...waits.values()].flat().flatMap(({ inside }) => inside));
  const shown = new Set<number>();
  const roots: WaitedLock[] = [];
  let more = 0;
  for (const key of waits.keys()) {
    const cycle = cycles.get(key);
    if (cycle === undefined ? held.has(key) : shown.has(cycle)) continue;
    if (cycle !== undefined) shown.add(cycle);
    if (built.size < mostLocks) roots.push(build(key));
    else more++;
  }
  const rank = (lock: WaitedLock): number => (lock.isDeadlock ? deepest + 1 : depthOf(lock));
  return { roots: roots.sort((one, other) => rank(other) - rank(one)), deadlocks: shown.size, more };
}

/** By the name that is waited for, the longest wait first, in names and in waits. */
function waitsByKey(processes: ReadonlyArray<ProcessActivity & { readonly age: number }>): Map<string, Wait[]> {
  const all = processes.flatMap(({ client, host, pid, age, contended }) =>
    contended.first.map(({ key, callers, longest, method, label, holder, flows }) => {
      const at = holder && partyOf(holder);
      const wait = {
        client,
        host,
        pid,
        method,
        label,
        callers,
        longest: Math.round(longest + age),
        holder: at,
        inside: flows.flatMap(({ holds }) => holds.map((held) => held.key)),
      };
      return [key, wait] as const;
    }),
  );
  const byKey = new Map<string, Wait[]>();
  for (const [key, wait] of all.sort(([, one], [, other]) => other.longest - one.longest)) {
    const known = byKey.get(key);
    if (known) known.push(wait);
    else byKey.set(key, [wait]);
  }
  return byKey;
}

const partyOf = ({ client, host, pid, method, label }: Party): Party => ({ client, host, pid, method, label });

const depthOf = ({ waiters }: WaitedLock): number =>
  1 + Math.max(0, ...waiters.flatMap(({ blocks }) => blocks.map(depthOf)));

/**
 * The locks that wait for themselves, by the number of their deadlock: a caller holds one and waits for the next, and so on, back to the
 * first one.
 */
function deadlocks(waits: ReadonlyMap<string, readonly Wait[]>): Map<string, number> {
  const next = (key: string): string[] => (waits.get(key) ?? []).flatMap(({ inside }) => inside);
  const reached = new Map([...waits.keys()].map((key) => [key, reachable(key, next)]));
  const found = new Map<string, number>();
  let count = 0;
  for (const [key, others] of reached) {
    if (!others.has(key) || found.has(key)) continue;
    count++;
    for (const other of others) if (reached.get(other)?.has(key)) found.set(other, count);
  }
  return found;
}

function reachable(from: string, next: (key: string) => string[]): Set<string> {
  const seen = new Set<string>();
  const open = next(from);
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    if (seen.has(key)) continue;
    seen.add(key);
    open.push(...next(key));
  }
  return seen;
}
