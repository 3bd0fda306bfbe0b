import fc from 'fast-check';

/** One call, at its time: it waits for the lock, works, and releases it. All times in ms. */
export interface Call {
  readonly at: number;
  readonly process: number;
  readonly names: readonly string[];
  /** The number of calls of this kind, one every other millisecond. */
  readonly crowd: number;
  /** For names that can be shared, or that have permits. */
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
  /** `lengthen`: a `renew()` for much longer than the lease; `hand over and close`: the process that adopts the lock closes at the same time. */
  readonly atLast: 'release' | 'renew' | 'lengthen' | 'hand over' | 'hand over and close';
}

/** How a process starts: the first use connects, or the start of the application. */
export interface Beginning {
  readonly opensAt: number;
  /** How long the connection takes. */
  readonly settingUp: number;
}

/** `server`: which one of several; on a link: the one of `process` to it. */
export type Fault = { readonly at: number; readonly server: number } & (
  | { readonly what: 'lose'; readonly name: string }
  | { readonly what: 'forceRelease'; readonly name: string }
  | { readonly what: 'unavailable' | 'restart empty' | 'stall'; readonly lasts: number }
  | { readonly what: 'refuse'; readonly lasts: number; readonly passing: boolean }
  | { readonly what: 'dropReplies'; readonly count: number }
  | { readonly what: 'loseHandOffs'; readonly count: number }
  | { readonly what: 'delayHandOffs'; readonly by: number; readonly count: number }
  | { readonly what: 'slow'; readonly process: number; readonly by: number; readonly lasts: number }
  | { readonly what: 'half-open' | 'replies lost' | 'stop'; readonly process: number; readonly lasts: number }
  | { readonly what: 'reset' | 'shutdown' | 'die' | 'die half-open'; readonly process: number }
);

/** Command time-out of a process (ms). */
export const commandTimeout = 300;
export const processes = 3;
export const limit = 3;
/** The time in which calls begin and faults occur. */
export const trouble = 3_000;

const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
// Many at the same moments: faults happen between a request and its reply.
const time = fc.oneof(fc.constantFrom(0, 100, 1_000), fc.nat({ max: trouble }));
export const names = ['a', 'b', 'book', 'gate'];
const name = fc.constantFrom('a', 'a', ...names);
const process = fc.nat({ max: processes - 1 });

const anyCall = {
  at: time,
  process,
  names: fc.oneof(
    { weight: 6, arbitrary: name.map((one) => [one]) },
    { weight: 1, arbitrary: fc.constantFrom(['a', 'b'], ['b', 'a'], ['a', 'book', 'b']) },
  ),
  crowd: fc.constantFrom(1, 1, 1, 1, 1, 3, 8),
  share: fc.boolean(),
  permits: fc.integer({ min: 1, max: limit }),
  wait: fc.constantFrom(0, 0, 50, 500, 5_000, Number.POSITIVE_INFINITY),
  lease: fc.constantFrom(100, 500, 2_000, 2_000, 10_000),
  renew: fc.boolean(),
  fairness: fc.constantFrom('handoff', 'handoff', 'strict'),
  abortAfter: rarely(fc.constantFrom(0, 0, 1, 300, 1_500)),
  minHold: rarely(fc.constantFrom(50, 100)),
  maxHold: rarely(fc.constantFrom(80, 1_000)),
  work: fc.constantFrom(0, 0, 1, 20, 150, 700, 2_500),
  atLast: fc.constantFrom(
    ...(['release', 'release', 'release', 'release', 'renew', 'lengthen', 'hand over', 'hand over and close'] as const),
  ),
};
/** A caller of a contended lock that waits for it. */
const hotCall = {
  ...anyCall,
  names: fc.constant(['a']),
  crowd: fc.constant(1),
  wait: fc.constantFrom(5_000, Number.POSITIVE_INFINITY),
  abortAfter: fc.constant(undefined),
  minHold: fc.constant(undefined),
  maxHold: fc.constant(undefined),
  atLast: fc.constant('release' as const),
};
/** One process in which many callers wait from the beginning, so that it passes the lock on inside. */
const insider = fc.record({
  ...hotCall,
  process: fc.constant(0),
  at: fc.oneof(fc.constant(0), fc.nat({ max: 500 })),
  lease: fc.constantFrom(2_000, 10_000, 10_000, 10_000),
  fairness: fc.constant('handoff' as const),
  work: fc.constantFrom(0, 1, 20, 20, 2_500),
});
/** Others that take it now and then, for a moment. */
const outsider = fc.record({
  ...hotCall,
  process: fc.constantFrom(1, 2),
  at: fc.nat({ max: 1_500 }),
  lease: fc.constantFrom(500, 2_000, 10_000),
  work: fc.constantFrom(0, 1, 20, 150),
});
/** Single tries, many at once, and a few callers that wait. */
const impatient = fc.record({
  ...hotCall,
  crowd: fc.constantFrom(1, 3, 8),
  wait: fc.constantFrom(0, 0, 0, 500, 5_000),
  work: fc.constantFrom(0, 1, 20),
});

export const beginning: fc.Arbitrary<Beginning> = fc.record({
  opensAt: fc.constantFrom(0, 0, 0, 0, 0, 500, trouble),
  settingUp: fc.constantFrom(0, 0, 0, 0, 0, 0, 20, 1_500),
});

/** Of waiters: in ms. */
export const poll = fc.constantFrom(1_000, 1_000, 5_000);

const server = fc.nat({ max: 2 });
const count = fc.integer({ min: 1, max: 3 });
const lasts = fc.constantFrom(20, 250, 400, 1_200);
/** Shorter and longer than any reply may take. */
const by = fc.oneof(
  fc.constantFrom(1, 10, 100, 200, commandTimeout - 1, commandTimeout + 1),
  fc.nat({ max: 4 * commandTimeout }),
);
const slow = fc.record({
  ...{ at: time, server, what: fc.constant('slow' as const), process, by },
  lasts: fc.oneof(lasts, fc.constant(2 * trouble)),
});
const slowInside = fc.record({
  ...{ at: fc.constant(0), server, what: fc.constant('slow' as const), process: fc.constant(0) },
  ...{
    by: fc.oneof(fc.constantFrom(20, 100, 200), fc.nat({ max: commandTimeout - 1 })),
    lasts: fc.constant(10 * trouble),
  },
});
const refuseBriefly = fc.record({
  ...{ at: fc.nat({ max: 1_500 }), server, what: fc.constant('refuse' as const) },
  ...{ lasts: fc.constantFrom(20, 100, 250), passing: fc.constant(true) },
});
const refuse = fc.record({ at: time, server, what: fc.constant('refuse' as const), lasts, passing: fc.boolean() });
const onLink = fc.record({
  ...{
    at: time,
    server,
    what: fc.constantFrom('half-open' as const, 'replies lost' as const, 'stop' as const),
    process,
  },
  lasts: fc.oneof(fc.constant(0), lasts, fc.constant(4_000)),
});
const end = fc.record({
  ...{ at: time, server, process },
  what: fc.constantFrom('reset' as const, 'shutdown' as const, 'die' as const, 'die half-open' as const),
});
const anyFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ at: time, server, what: fc.constantFrom('lose' as const, 'forceRelease' as const), name }),
  fc.record({
    ...{ at: time, server, what: fc.constantFrom('unavailable' as const, 'restart empty' as const, 'stall' as const) },
    lasts: fc.oneof(
      { weight: 5, arbitrary: lasts },
      { weight: 1, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.constant(4_000) },
    ),
  }),
  fc.record({ at: time, server, what: fc.constantFrom('dropReplies' as const, 'loseHandOffs' as const), count }),
  fc.record({ at: time, server, what: fc.constant('delayHandOffs' as const), by: lasts, count }),
  slow,
  refuse,
  onLink,
  end,
);

/** The events of one run. */
export interface Scene {
  readonly calls: readonly Call[];
  readonly faults: readonly Fault[];
}

const some = <T>(one: fc.Arbitrary<T>, least: number, most: number): fc.Arbitrary<T[]> =>
  fc.array(one, { minLength: least, maxLength: most, size: 'max' });
export const scenes: fc.Arbitrary<Scene> = fc.oneof(
  fc.record({ calls: some(fc.record(anyCall), 2, 16), faults: some(anyFault, 0, 5) }),
  fc.record({
    calls: fc.tuple(some(insider, 4, 16), some(outsider, 1, 8)).map((callers) => callers.flat()),
    faults: some(
      fc.oneof(slowInside, slowInside, slowInside, refuseBriefly, refuseBriefly, refuseBriefly, onLink, end),
      1,
      3,
    ),
  }),
  fc.record({ calls: some(impatient, 2, 16), faults: some(fc.oneof(slow, refuse, onLink), 0, 2) }),
);
