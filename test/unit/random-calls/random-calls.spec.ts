import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomRuns } from '../../support/random-runs.js';
import { beginning, type Call, poll, processes, scenes } from './calls.js';
import { type Drawn, exampleOf, known } from './known.js';
import { Run, type Seen } from './run.js';

const runs = randomRuns<Drawn>({ usual: 300, deep: 3_000 }, exampleOf);

/** Replaces calls that a quorum does not support. */
const ofQuorum = (one: Call): Call => ({
  ...one,
  names: one.names.map((name) => (name === 'gate' ? 'a' : name)),
  atLast: one.atLast.startsWith('hand over') ? 'renew' : one.atLast,
});

describe.each([
  ['one server', { servers: 1, hasty: false }, (one: Call) => one],
  ['one server that responds slowly', { servers: 1, hasty: true }, (one: Call) => one],
  ['a quorum of three', { servers: 3, hasty: false }, ofQuorum],
])('clients of %s, over random calls and faults', (_, place, forPlace) => {
  it(
    'settle every call in time, grant no lock beside a certain holder, throw nothing in a timer, and leave nothing behind',
    async () => {
      const seen: Seen = { granted: 0, lost: 0, outcomes: new Map() };
      await fc.assert(
        fc.asyncProperty(
          fc.array(beginning, { minLength: processes, maxLength: processes }),
          scenes,
          poll,
          fc.nat(),
          async (beginnings, { calls, faults }, patience, pauses) => {
            const run = new Run(seen, {
              ...{ ...place, beginnings, faults, poll: patience, seed: pauses },
              calls: calls.map(forPlace),
            });
            await run.end();
            expect(run.broken).toEqual([]);
          },
        ),
        { ...runs, examples: Object.values(known) },
      );
      // The runs were not empty.
      expect(seen.granted).toBeGreaterThan(runs.numRuns);
      expect(seen.lost).toBeGreaterThan(runs.numRuns / 10);
      for (const outcome of ['worked', 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE', 'AbortError'])
        expect([outcome, seen.outcomes.get(outcome)]).toEqual([outcome, expect.any(Number)]);
    },
    runs.numRuns * 200,
  );
});
