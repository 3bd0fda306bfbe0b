import fc from 'fast-check';
import type { Beginning, Call, Scene } from './calls.js';

/** The input of a random run. */
export type Drawn = [beginnings: Beginning[], scene: Scene, poll: number, pauses: number];

const atOnce: Beginning = { opensAt: 0, settingUp: 0 };
const usual: Call = {
  ...{ at: 0, process: 0, names: ['a'], crowd: 1, share: false, permits: 1, wait: 5_000, lease: 2_000, renew: false },
  ...{ fairness: 'handoff', abortAfter: undefined, minHold: undefined, maxHold: undefined, work: 0, atLast: 'release' },
};
export const call = (terms: Partial<Call>): Call => ({ ...usual, ...terms });
const several = (count: number, terms: Partial<Call> = {}): Call[] => Array.from({ length: count }, () => call(terms));
export const drawn = (scene: Scene, poll = 1_000, first = atOnce, others = [atOnce, atOnce], pauses = 0): Drawn => [
  [first, ...others],
  scene,
  poll,
  pauses,
];

/** The code of an input, to be written below. */
export function exampleOf([[first, ...others], { calls, faults }, poll, pauses]: Drawn): string {
  const code = calls.map((one) => {
    const terms = Object.entries(one).filter(
      ([key, value]) => fc.stringify(value) !== fc.stringify(usual[key as keyof Call]),
    );
    return `      call({ ${terms.map(([key, value]) => `${key}: ${fc.stringify(value)}`).join(', ')} }),\n`;
  });
  const lines = faults.map((one) => `      ${fc.stringify(one)},\n`);
  const rest = [poll, first, others, pauses].map((one) => fc.stringify(one)).join(', ');
  return `  'what happens': drawn(\n    {\n      calls: [\n${code.join('')}      ],\n      faults: [\n${lines.join('')}      ],\n    },\n    ${rest},\n  ),`;
}

/** Faults that random calls have found, shrunk. They run before the random ones in each run of the tests. */
export const known: Record<string, Drawn> = {
  'tokens are reserved faster than time passes, and the server restarts without its data': drawn({
    calls: [
      ...Array.from({ length: 30 }, (_, batch) => several(8, { at: batch / 40, process: batch % 3 })).flat(),
      ...[2, 4, 8].map((at) => call({ at, names: ['b'] })),
    ],
    faults: [{ at: 1, server: 0, what: 'restart empty', lasts: 1 }],
  }),
  'a second turn of the process begins while a renewal of the first is pending': drawn({
    calls: [
      ...several(2),
      call({ at: 1 }),
      call({ work: 20 }),
      call({ at: 1, lease: 10_000 }),
      ...several(2, { work: 20 }),
      call({ at: 21, process: 1, lease: 500 }),
    ],
    faults: [{ at: 0, server: 0, what: 'slow', process: 0, by: 41, lasts: 30_000 }],
  }),
  'votes are requested again under other ids, and renewed under these': drawn(
    {
      calls: [
        call({}),
        call({ at: 1, work: 20 }),
        call({ at: 1, lease: 10_000, work: 20 }),
        call({ lease: 10_000, work: 2_500 }),
        ...several(2, { work: 20 }),
        ...several(2),
        call({ at: 586, process: 1, lease: 500 }),
        call({ at: 39, process: 1, lease: 500, fairness: 'strict' }),
        call({ at: 719, process: 1, lease: 500, fairness: 'strict', work: 150 }),
      ],
      faults: [
        { at: 0, server: 0, what: 'slow', process: 0, by: 76, lasts: 30_000 },
        { at: 0, server: 1, what: 'replies lost', process: 0, lasts: 4_000 },
      ],
    },
    1_000,
    atOnce,
    [atOnce, atOnce],
    1_986_225_423,
  ),
  'a renewal after a hand-off is refused once': drawn({
    calls: [
      call({}),
      call({ work: 20 }),
      call({ lease: 10_000, work: 2_500 }),
      ...several(4),
      call({ at: 1, process: 1, lease: 500 }),
    ],
    faults: [{ at: 1, server: 0, what: 'refuse', lasts: 20, passing: true }],
  }),
  'a holder dies that got the lock after its waiters asked': drawn(
    {
      calls: [
        call({ at: 175, lease: 10_000, work: 2_500 }),
        ...several(3),
        ...[1, 2].map((process) => call({ at: 175, process, lease: 500 })),
        call({ process: 1, lease: 500 }),
      ],
      faults: [{ at: 175, server: 0, what: 'die half-open', process: 1 }],
    },
    5_000,
  ),
  'a call comes before the connection is made': drawn(
    { calls: [call({ wait: 500 }), call({ abortAfter: 1 })], faults: [] },
    1_000,
    { opensAt: 0, settingUp: 1_500 },
  ),
  'a lock is adopted for a shorter lease, and its adopter dies': drawn({
    calls: [...several(8, { at: 1, process: 1, work: 700, atLast: 'hand over' })],
    faults: [{ at: 1_000, server: 0, what: 'die half-open', process: 2 }],
  }),
  'a reader with a long lease leaves another with a short lease that is never released': drawn({
    calls: [
      call({ names: ['book'], share: true, lease: 100, renew: true, work: 150, atLast: 'hand over and close' }),
      call({ at: 100, names: ['book'], share: true, lease: 10_000 }),
      call({ at: 100, names: ['book'], lease: 100, wait: Number.POSITIVE_INFINITY }),
    ],
    faults: [{ at: 0, server: 0, what: 'half-open', process: 1, lasts: 0 }],
  }),
  'the last of several names is handed over': drawn({
    calls: [
      call({ names: ['book'], lease: 100, renew: true, wait: 0, work: 2_500 }),
      call({ process: 1, names: ['a', 'book', 'b'], lease: 10_000, wait: Number.POSITIVE_INFINITY }),
    ],
    faults: [],
  }),
  'a process with two waiters dies, and the lock is granted to the first for a short lease': drawn({
    calls: [
      call({ at: 1 }),
      ...several(2),
      call({ work: 2_500 }),
      call({ at: 2, process: 1, lease: 500, fairness: 'strict' }),
      call({ at: 2, process: 1, lease: 500 }),
      call({ at: 1, process: 2, lease: 10_000 }),
    ],
    faults: [{ at: 2, server: 0, process: 1, what: 'die half-open' }],
  }),
  'a process stands still before it reads the grant of a fixed lease': drawn({
    calls: [call({}), call({ at: 254 }), ...several(2), call({ process: 1, lease: 500 })],
    faults: [
      { at: 0, server: 0, what: 'slow', process: 0, by: 20, lasts: 30_000 },
      { at: 254, server: 0, what: 'stop', process: 0, lasts: 400 },
    ],
  }),
  'servers that respond slowly elect the holder of a fixed lease in two rounds': drawn(
    {
      calls: [...several(4), call({ process: 1, lease: 500 })],
      faults: [
        { at: 0, server: 0, what: 'slow', process: 0, by: 32, lasts: 30_000 },
        { at: 0, server: 2, what: 'slow', process: 0, by: 200, lasts: 30_000 },
        { at: 0, server: 1, what: 'slow', process: 0, by: 197, lasts: 30_000 },
      ],
    },
    1_000,
    { opensAt: 0, settingUp: 1_500 },
  ),
  'the vote of one server is older than the election, and the lease is fixed': drawn({
    calls: [
      call({ at: 100, names: ['book'] }),
      call({ names: ['book'], share: true, wait: 0, lease: 10_000, work: 150 }),
      call({ wait: 0, lease: 100 }),
      call({ names: ['a', 'b'], wait: 0, lease: 100 }),
    ],
    faults: [
      { at: 0, server: 1, what: 'loseHandOffs', count: 1 },
      { at: 0, server: 0, what: 'unavailable', lasts: 4_000 },
    ],
  }),
  'a server that has lost all data loses one lock more': drawn({
    calls: [
      call({ wait: 0, lease: 10_000, minHold: 50, work: 2_500 }),
      call({ lease: 100, fairness: 'strict', minHold: 50 }),
      call({ wait: 0, lease: 100 }),
      call({ wait: 0, lease: 100, maxHold: 80 }),
    ],
    faults: [
      { at: 0, server: 0, what: 'restart empty', lasts: 250 },
      { at: 0, server: 0, what: 'refuse', lasts: 1_200, passing: false },
      { at: 0, server: 0, what: 'lose', name: 'a' },
    ],
  }),
  'renewals of a lost lock have replies': drawn({
    calls: [
      call({ wait: 0, lease: 100, maxHold: 80 }),
      call({ crowd: 8, lease: 500, renew: true, maxHold: 1_000, work: 2_500 }),
    ],
    faults: [
      { at: 2_850, server: 0, what: 'refuse', lasts: 250, passing: false },
      { at: 2_834, server: 0, what: 'slow', process: 0, by: 200, lasts: 6_000 },
    ],
  }),
  'a lease ends by itself, and the first waiter is on a slow link': drawn({
    calls: [
      call({ at: 1, process: 1, lease: 100 }),
      call({ process: 1, wait: 0, lease: 10_000, work: 700, atLast: 'hand over' }),
      call({ wait: Number.POSITIVE_INFINITY, lease: 100 }),
      call({ names: ['a', 'b'], wait: 0, lease: 100, maxHold: 80 }),
      call({ names: ['a', 'b'], wait: 0, lease: 100 }),
    ],
    faults: [
      { at: 701, server: 0, what: 'half-open', process: 2, lasts: 4_000 },
      { at: 751, server: 0, what: 'slow', process: 0, by: 601, lasts: 250 },
    ],
  }),
  'a single try splits the votes of slow servers with others, again and again': drawn(
    {
      calls: [
        call({ at: 1_000, wait: 0, lease: 100 }),
        call({ at: 1_000, process: 1, wait: 0, lease: 500 }),
        call({ wait: 0, lease: 100 }),
        call({ at: 1_241, crowd: 3, lease: 100, work: 20 }),
      ],
      faults: [
        { at: 0, server: 0, what: 'slow', process: 1, by: 200, lasts: 6_000 },
        { at: 255, server: 1, what: 'half-open', process: 1, lasts: 1_200 },
      ],
    },
    1_000,
    atOnce,
    [atOnce, atOnce],
    6,
  ),
};
