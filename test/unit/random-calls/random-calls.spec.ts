import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomRuns } from '../../support/random-runs.js';
import { beginning, type Call, poll, processes, scenes } from './calls.js';
import { call, type Drawn, drawn, exampleOf, known } from './known.js';
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

describe('a run that fails', () => {
  it('is printed as an entry of known.ts, for any input', () => {
    for (const input of Object.values(known)) {
      // oxlint-disable-next-line typescript/no-implied-eval -- the text is what is tested
      const read = new Function('call', 'drawn', `return {${exampleOf(input)}}`) as (...by: unknown[]) => object;
      expect(read(call, drawn)).toEqual({ 'what happens': input });
    }
  });

  it('says how to make the same runs again', async () => {
    const { reporter } = randomRuns<[number]>({ usual: 1, deep: 1 });
    const failing = fc.assert(
      fc.asyncProperty(fc.constant(7), async (_seven: number) => Promise.reject(new Error('broken'))),
      { numRuns: 3, seed: 5, reporter },
    );
    await expect(failing).rejects.toMatchObject({
      message: expect.stringContaining(
        'Again: RANDOM_SEED=5 RANDOM_RUNS=3 npm run jest -- test/unit/random-calls/random-calls.spec.ts\n\nAs an example:\n[7]',
      ),
      cause: expect.objectContaining({ message: 'broken' }),
    });
  });
});
