import type { Mode } from './history.js';
import { Random } from './random.js';

/** What one call of a flow does; milliseconds. */
export interface Call {
  readonly names: readonly string[];
  readonly mode: Mode;
  readonly lease: number;
  readonly renew: boolean;
  readonly wait: number;
  readonly fairness: 'handoff' | 'strict';
  /** Its caller gives up after so long. */
  readonly abortAfter?: number;
  /** Between reading and writing. */
  readonly work: number;
  readonly renewByHand: boolean;
  /** Before the next call. */
  readonly rest: number;
}

/** Names whose lock is for one at a time; the first is the hot one. */
const forOne = ['hot', 'warm', 'cool'];
/** A name with readers and writers, and one with permits. */
const shared = 'book';
const permitted = { name: 'gate', limit: 3 };

/** The lock names of a run, the hot one first, and how to have each of them for oneself alone. */
export const names = [...forOne, shared, permitted.name];
export const alone = (name: string): Mode =>
  name === permitted.name ? { limit: permitted.limit, permits: permitted.limit } : 'exclusive';

export interface ProgrammeOptions {
  readonly seed: number;
  /** Which process, and how often it was started. */
  readonly process: string;
  readonly flows: number;
}

/** Calls of a flow before it begins again with the first. */
const length = 64;

/** What the flows of one process do, one call after another. A pure function of its arguments. */
export function programme({ seed, process, flows }: ProgrammeOptions): Call[][] {
  return Array.from({ length: flows }, (_, flow) => {
    const random = new Random(`${seed}:calls:${process}:${flow}`);
    return Array.from({ length }, () => call(random));
  });
}

function call(random: Random): Call {
  const lease = random.pick([300, 500, 1000, 2000]);
  return {
    ...asked(random),
    lease,
    renew: random.chance(0.5),
    wait: random.pick([0, 300, 1000, 3000, 3000]),
    fairness: random.chance(0.75) ? 'handoff' : 'strict',
    abortAfter: random.chance(0.1) ? random.between(0, 500) : undefined,
    // Now and then it lasts longer than a lease that is not or cannot be renewed.
    work: random.chance(0.03) ? random.between(0, 1.5 * lease) : random.between(0, 5),
    renewByHand: random.chance(0.1),
    rest: random.between(0, 20),
  };
}

/** Mostly one name; now and then several, in an order of the caller's own. */
function asked(random: Random): Pick<Call, 'names' | 'mode'> {
  if (random.chance(0.15)) {
    const some = random.shuffle([...forOne, shared]).slice(0, random.between(2, 4));
    return { names: some, mode: 'exclusive' };
  }
  const name = random.chance(0.3) ? names[0]! : random.pick(names);
  if (name === shared) return { names: [name], mode: random.chance(0.7) ? 'shared' : 'exclusive' };
  if (name !== permitted.name) return { names: [name], mode: 'exclusive' };
  return { names: [name], mode: { limit: permitted.limit, permits: random.between(1, permitted.limit) } };
}
