import type { ProcessActivity, WaitedForLock, WaitingFlow } from './activity-record.js';
import type { Turns } from '../diagnostics/turns.js';

/** Waiting flows that are followed, and flows that hold one name. A fleet that has more has other worries. */
const mostFlows = 20_000;
const mostHolding = 64;

/** What a process told, and how long ago (ms). */
export type SeenProcess = ProcessActivity & { readonly age: number };

/** The callers of one process that wait for one name. */
export interface Wait {
  readonly process: SeenProcess;
  readonly lock: WaitedForLock;
  readonly flows: readonly Flow[];
}

/** A caller that holds locks while it waits. Times in ms before the answer, below zero. */
export interface Flow {
  readonly wait: Wait;
  readonly holds: WaitingFlow['holds'];
  /** It has waited since then, and still did so then. */
  readonly begun: number;
  readonly told: number;
  /** The number of its deadlock; 0 for none. */
  deadlock: number;
  /** Of Tarjan's algorithm: when it was found, and the first one found that it leads back to. 0: not yet. */
  order: number;
  lowest: number;
  isOpen: boolean;
}

/** Who waits for whom: flow → name → flow. */
export interface WaitGraph {
  /** By the name that is waited for. */
  readonly waits: ReadonlyMap<string, readonly Wait[]>;
  /** By a name: the flows that hold it while they wait. */
  readonly holding: ReadonlyMap<string, readonly Flow[]>;
  /** One circle of each deadlock: each flow waits for a name that the next one holds. */
  readonly circles: ReadonlyArray<readonly Flow[]>;
  /** Flows that were not looked at. */
  readonly leftOut: number;
}

export async function waitGraph(processes: Iterable<SeenProcess>, turns: Turns): Promise<WaitGraph> {
  const waits = new Map<string, Wait[]>();
  const holding = new Map<string, Flow[]>();
  const all: Flow[] = [];
  let leftOut = 0;
  for (const process of processes) {
    for (const lock of process.contended.first) {
      const flows: Flow[] = [];
      const wait = { process, lock, flows };
      for (const { waited, holds } of lock.flows) {
        if (all.length >= mostFlows) {
          leftOut++;
          continue;
        }
        const flow = {
          wait,
          holds,
          begun: -process.age - waited,
          told: -process.age,
          deadlock: 0,
          order: 0,
          lowest: 0,
          isOpen: false,
        };
        flows.push(flow);
        all.push(flow);
        for (const { key } of holds) {
          const known = holding.get(key);
          if (!known) holding.set(key, [flow]);
          else if (known.length < mostHolding) known.push(flow);
        }
      }
      const known = waits.get(lock.key);
      if (known) known.push(wait);
      else waits.set(lock.key, [wait]);
      const pause = turns.rest(1 + flows.length);
      if (pause) await pause;
    }
  }
  const circles = await findCircles(all, holding, turns);
  return { waits, holding, circles, leftOut };
}

/**
 * True when one flow waits until the other one leaves the name. Only what is certain makes a deadlock:
 * - Someone else may hold the name by now: the processes told at different times. Then the waits did not overlap, or another process is
 *   its holder.
 * - Of several permits another one may become free.
 */
function isBlockedBy({ wait, begun, told }: Flow, other: Flow): boolean {
  const { key, holder } = wait.lock;
  const held = other.holds.find((hold) => hold.key === key)?.kind;
  if (begun > other.told || other.begun > told) return false;
  // A reader that waits while others read stands behind a writer, who waits for all of them.
  return held === 'shared' || (held === 'exclusive' && holder?.client === other.wait.process.client);
}

/** Tarjan's algorithm, without recursion: a chain may be as long as the fleet. Each flow of a circle gets the number of its deadlock. */
async function findCircles(
  flows: readonly Flow[],
  holding: ReadonlyMap<string, readonly Flow[]>,
  turns: Turns,
): Promise<Flow[][]> {
  const nextOf = ({ wait }: Flow): readonly Flow[] => holding.get(wait.lock.key) ?? none;
  const open: Flow[] = [];
  let found = 0;
  const circles: Flow[][] = [];
  for (const start of flows) {
    if (start.order > 0) continue;
    const path: Array<{ readonly flow: Flow; position: number }> = [];
    const enter = (flow: Flow): void => {
      flow.order = flow.lowest = ++found;
      flow.isOpen = true;
      open.push(flow);
      path.push({ flow, position: 0 });
    };
    enter(start);
    for (let step = path.at(-1); step; step = path.at(-1)) {
      const { flow } = step;
      const next = nextOf(flow)[step.position++];
      if (next) {
        if (isBlockedBy(flow, next)) {
          if (next.order === 0) enter(next);
          else if (next.isOpen) flow.lowest = Math.min(flow.lowest, next.order);
        }
      } else {
        path.pop();
        const before = path.at(-1);
        if (before) before.flow.lowest = Math.min(before.flow.lowest, flow.lowest);
        if (flow.lowest === flow.order) {
          const members = open.splice(open.lastIndexOf(flow));
          for (const member of members) member.isOpen = false;
          if (members.length > 1) circles.push(circleIn(members, circles.length + 1, nextOf));
        }
      }
      const pause = turns.rest();
      if (pause) await pause;
    }
  }
  return circles;
}

const none: readonly Flow[] = [];

/** One circle of flows that all reach each other. */
function circleIn(members: readonly Flow[], deadlock: number, nextOf: (flow: Flow) => readonly Flow[]): Flow[] {
  for (const member of members) member.deadlock = deadlock;
  const path: Flow[] = [];
  const places = new Map<Flow, number>();
  let flow = members.at(-1)!;
  while (!places.has(flow)) {
    places.set(flow, path.length);
    path.push(flow);
    flow = nextOf(flow).find((next) => next.deadlock === deadlock && isBlockedBy(flow, next))!;
  }
  return path.slice(places.get(flow));
}
