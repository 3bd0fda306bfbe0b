import fc from 'fast-check';

/** One call, at its time: it waits for the lock, works, and gives it back. All times in ms. */
export interface Call {
  readonly at: number;
  readonly process: number;
  readonly names: readonly string[];
  /** Of the names that can be shared, or that have permits. */
  readonly share: boolean;
  readonly permits: number;
  readonly wait: number;
  readonly lease: number;
  readonly renew: boolean;
  readonly fairness: 'handoff' | 'strict';
  readonly abortAfter: number | undefined;
  readonly minHold: number | undefined;
  readonly maxHold: number | undefined;
  readonly work: number;
  readonly atLast: 'release' | 'renew' | 'hand over';
}

/** `server`: which, where there are several. */
export type Fault = { readonly at: number; readonly server: number } & (
  | { readonly what: 'lose'; readonly name: string }
  | { readonly what: 'forceRelease'; readonly name: string }
  | { readonly what: 'unavailable'; readonly lasts: number }
  | { readonly what: 'stall'; readonly lasts: number }
  | { readonly what: 'dropReplies'; readonly count: number }
  | { readonly what: 'loseHandOffs'; readonly count: number }
  | { readonly what: 'delayCommands'; readonly by: number; readonly count: number }
  | { readonly what: 'delayHandOffs'; readonly by: number; readonly count: number }
  | { readonly what: 'shutdown'; readonly process: number }
);

export const processes = 3;
export const limit = 3;
/** In which calls begin and things go wrong. */
export const trouble = 3_000;

const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const time = fc.nat({ max: trouble });
export const names = ['a', 'b', 'book', 'gate'];
const name = fc.constantFrom('a', 'a', ...names);

export const call: fc.Arbitrary<Call> = fc.record({
  // Many at the same moments: what happens between a question and its answer is what goes wrong.
  at: fc.oneof(fc.constantFrom(0, 100, 1_000), time),
  process: fc.nat({ max: processes - 1 }),
  names: fc.oneof(
    { weight: 6, arbitrary: name.map((one) => [one]) },
    { weight: 1, arbitrary: fc.constantFrom(['a', 'b'], ['b', 'a'], ['a', 'book', 'b']) },
  ),
  share: fc.boolean(),
  permits: fc.integer({ min: 1, max: limit }),
  wait: fc.constantFrom(0, 0, 50, 500, 5_000, Number.POSITIVE_INFINITY),
  lease: fc.constantFrom(100, 500, 2_000),
  renew: fc.boolean(),
  fairness: fc.constantFrom('handoff', 'handoff', 'strict'),
  abortAfter: rarely(fc.constantFrom(0, 0, 1, 300, 1_500)),
  minHold: rarely(fc.constantFrom(50, 100)),
  maxHold: rarely(fc.constantFrom(80, 1_000)),
  work: fc.constantFrom(0, 0, 1, 20, 150, 700),
  atLast: fc.constantFrom('release', 'release', 'release', 'renew', 'hand over'),
});

const server = fc.nat({ max: 2 });
const count = fc.integer({ min: 1, max: 3 });
const lasts = fc.constantFrom(20, 250, 400, 1_200);
export const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ at: time, server, what: fc.constantFrom('lose', 'forceRelease'), name }),
  fc.record({ at: time, server, what: fc.constantFrom('unavailable', 'stall'), lasts }),
  fc.record({
    at: fc.oneof(fc.constant(0), time),
    server,
    what: fc.constantFrom('dropReplies', 'loseHandOffs'),
    count,
  }),
  fc.record({ at: time, server, what: fc.constant('delayHandOffs'), by: lasts, count }),
  // Longer than anybody waits for an answer: the commands of one connection do not overtake each other.
  fc.record({ at: time, server, what: fc.constant('delayCommands'), by: fc.constantFrom(400, 1_200), count }),
  fc.record({ at: time, server, what: fc.constant('shutdown'), process: fc.nat({ max: processes - 1 }) }),
) as fc.Arbitrary<Fault>;
