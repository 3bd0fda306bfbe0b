import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomRuns } from '../../support/random-runs.js';
import { type Call, call, fault } from './calls.js';
import { Run, type Seen } from './run.js';

const runs = randomRuns(300);

/** What a quorum does not provide is asked for otherwise. */
const ofQuorum = (one: Call): Call => ({
  ...one,
  names: one.names.map((name) => (name === 'gate' ? 'a' : name)),
  atLast: one.atLast === 'hand over' ? 'renew' : one.atLast,
});

describe.each([
  ['one place of locks', { servers: 1, slow: false }, (one: Call) => one],
  ['one place of locks that answers slowly', { servers: 1, slow: true }, (one: Call) => one],
  ['a quorum of three', { servers: 3, slow: false }, ofQuorum],
])('clients of %s, over random calls and faults', (_, place, forPlace) => {
  it(
    'answer every call, let nobody in beside who is certain, throw nothing out of a timer, and leave nothing behind',
    async () => {
      const seen: Seen = { granted: 0, lost: 0, outcomes: new Map() };
      await fc.assert(
        fc.asyncProperty(
          fc.array(call, { minLength: 2, maxLength: 16, size: 'max' }),
          fc.array(fault, { maxLength: 5, size: 'max' }),
          fc.nat(),
          async (calls, faults, pauses) => {
            const run = new Run(seen, { ...place, seed: pauses, calls: calls.map(forPlace), faults });
            await run.end();
            expect(run.broken).toEqual([]);
          },
        ),
        runs,
      );
      // The runs were no empty ones.
      expect(seen.granted).toBeGreaterThan(runs.numRuns);
      expect(seen.lost).toBeGreaterThan(runs.numRuns / 10);
      for (const outcome of ['worked', 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE', 'AbortError'])
        expect([outcome, seen.outcomes.get(outcome)]).toEqual([outcome, expect.any(Number)]);
    },
    runs.numRuns * 100,
  );
});
