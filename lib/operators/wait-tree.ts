import type { Turns } from '../diagnostics/turns.js';
import type { LockHolder, LockParty } from '../errors/lock-errors.js';
import { type Flow, type SeenProcess, type Wait, type WaitGraph, waitGraph } from './wait-graph.js';

/** A lock that callers wait for: who holds it, who waits, and who waits for those in turn. */
export interface WaitedLock {
  readonly key: string;
  /** As the process knows it that told last. */
  readonly holder: LockHolder | undefined;
  /** True when a caller of a deadlock waits for it. */
  readonly isDeadlock: boolean;
  /** True when its waiters are shown at another place. */
  readonly isRepeated: boolean;
  /** Those first that block others. */
  readonly waiters: readonly Waiter[];
  /** How many waiting processes are not shown. */
  readonly moreWaiters: number;
}

export interface Waiter extends LockParty {
  readonly callers: number;
  readonly longest: number;
  /** True when one of these callers is in a deadlock: it waits, over others, for a lock that it holds itself. */
  readonly isDeadlock: boolean;
  /** Locks that one of these callers holds while it waits, and that others wait for. */
  readonly blocks: readonly WaitedLock[];
}

/** A caller of a deadlock. */
export interface DeadlockStep extends LockParty {
  readonly holds: { readonly key: string };
  readonly waitsFor: { readonly key: string };
}

export interface WaitTree {
  /** Deadlocks first, then the longest chains, then the longest waits. Their holders wait for no other lock; of a deadlock it is one. */
  readonly roots: readonly WaitedLock[];
  /** How many there are. */
  readonly deadlocks: number;
  /** The callers of the first ones: each waits for what the next one holds, and the last one for what the first one holds. */
  readonly circles: ReadonlyArray<readonly DeadlockStep[]>;
  /** Locks that are not in the tree, because it would be too large. */
  readonly more: number;
  /** Waiting callers that hold locks and were not looked at, because there are too many. */
  readonly leftOut: number;
}

const deepest = 10;
const mostLocks = 100;
const mostWaiters = 10;
const mostCircles = 20;
const longestCircle = 50;
/** To build a part of the tree is like so many small steps. */
const treeWeight = 32;

/** Who waits for whom, as people see it. */
export async function waitTree(processes: Iterable<SeenProcess>, turns: Turns): Promise<WaitTree> {
  const graph = await waitGraph(processes, turns);
  const { waits, holding, circles, leftOut } = graph;
  const keys = await keysInOrder(graph, turns);
  const built = new Set<string>();
  const named = new Set<string>();
  const build = (key: string, depth = 0): WaitedLock => {
    const found = waits.get(key)!;
    const isRepeated = built.has(key);
    const isEnd = isRepeated || depth >= deepest || built.size >= mostLocks;
    named.add(key);
    if (!isEnd) built.add(key);
    const shown = isEnd ? [] : firstOf(found, waits);
    return {
      key,
      holder: holderOf(found),
      isDeadlock: found.some(isStuck),
      isRepeated,
      waiters: shown.map((wait) => {
        const { process, lock } = wait;
        return {
          ...callerIn(wait.process, wait.lock),
          callers: lock.callers,
          longest: Math.round(lock.longest + process.age),
          isDeadlock: isStuck(wait),
          blocks: blockedBy(wait, waits).map((name) => build(name, depth + 1)),
        };
      }),
      moreWaiters: found.length - shown.length,
    };
  };
  const roots: WaitedLock[] = [];
  const shown = new Set<number>();
  let more = 0;
  const isRoot = (key: string): boolean => {
    const deadlock = deadlockOf(waits.get(key)!);
    if (deadlock === 0) return !holding.has(key);
    const isFirst = !shown.has(deadlock);
    shown.add(deadlock);
    return isFirst;
  };
  const others: string[] = [];
  await turns.each(
    keys,
    (key) => {
      if (!isRoot(key)) others.push(key);
      else if (built.size < mostLocks) roots.push(build(key));
      else more++;
    },
    treeWeight,
  );
  // Circles of which it is not certain whether they are deadlocks have no root.
  for (const key of others) if (!named.has(key) && built.size < mostLocks) roots.push(build(key));
  const rank = (lock: WaitedLock): number => (lock.isDeadlock ? deepest + 1 : depthOf(lock));
  return {
    roots: roots.sort((one, other) => rank(other) - rank(one)),
    deadlocks: circles.length,
    circles: circles.slice(0, mostCircles).map(stepsOf),
    more,
    leftOut,
  };
}

const isStuck = ({ flows }: Wait): boolean => flows.some(({ deadlock }) => deadlock > 0);

function deadlockOf(found: readonly Wait[]): number {
  for (const { flows } of found) for (const { deadlock } of flows) if (deadlock > 0) return deadlock;
  return 0;
}

/** Those of deadlocks, then those whose waiters block others, then the others; in each the longest wait first. */
async function keysInOrder({ waits }: WaitGraph, turns: Turns): Promise<string[]> {
  const ranked: Array<{ key: string; rank: number; longest: number }> = [];
  await turns.each(
    waits,
    ([key, found]) => {
      let [rank, longest] = [0, 0];
      for (const wait of found) {
        longest = Math.max(longest, wait.lock.longest + wait.process.age);
        if (rank < 2 && wait.flows.length > 0) rank = isStuck(wait) ? 2 : Math.max(rank, blocks(wait, waits) ? 1 : 0);
      }
      ranked.push({ key, rank, longest });
    },
    4,
  );
  return ranked.sort((one, other) => other.rank - one.rank || other.longest - one.longest).map(({ key }) => key);
}

/** The waiting processes that are shown: those that block others, then the longest wait. */
function firstOf(found: readonly Wait[], waits: WaitGraph['waits']): Wait[] {
  const longest = ({ lock, process }: Wait): number => lock.longest + process.age;
  const rank = new Map(found.map((wait) => [wait, isStuck(wait) ? 2 : blocks(wait, waits) ? 1 : 0]));
  return [...found]
    .sort((one, other) => rank.get(other)! - rank.get(one)! || longest(other) - longest(one))
    .slice(0, mostWaiters);
}

const blocks = ({ flows }: Wait, waits: WaitGraph['waits']): boolean =>
  flows.some(({ holds }) => holds.some(({ key }) => waits.has(key)));

const blockedBy = ({ flows }: Wait, waits: WaitGraph['waits']): string[] => [
  ...new Set(flows.flatMap(({ holds }) => holds.map(({ key }) => key)).filter((key) => waits.has(key))),
];

function holderOf(found: readonly Wait[]): LockHolder | undefined {
  let newest: Wait | undefined;
  for (const wait of found) if (wait.lock.holder && !(newest && newest.process.age <= wait.process.age)) newest = wait;
  return newest && agedHolder(newest.lock.holder!, newest.process.age);
}

/** As of now, by a process that told a while ago. */
export const agedHolder = (holder: LockHolder, age: number): LockHolder =>
  holder.heldFor === undefined ? holder : { ...holder, heldFor: Math.round(holder.heldFor + age) };

/** A process, and one of its callers. */
export const callerIn = (
  { client, host, pid }: SeenProcess,
  { method, label }: Pick<LockParty, 'method' | 'label'>,
): LockParty => ({ client, host, pid, method, label });

/** Of a long circle its beginning. */
const stepsOf = (circle: readonly Flow[]): DeadlockStep[] =>
  circle.slice(0, longestCircle).map((flow, index) => ({
    ...callerIn(flow.wait.process, flow.wait.lock),
    holds: { key: circle.at(index - 1)!.wait.lock.key },
    waitsFor: { key: flow.wait.lock.key },
  }));

const depthOf = ({ waiters }: WaitedLock): number =>
  1 + Math.max(0, ...waiters.flatMap(({ blocks: inner }) => inner.map(depthOf)));
