import { relative } from 'node:path';
import { expect } from '@jest/globals';
import fc from 'fast-check';

/**
 * How often a property is tried, and on which inputs.
 *
 *   (nothing set)                        as often as usual, on the same inputs each time: for `npm test`
 *   RANDOM_RUNS=deep                     as often as in `npm run test:deep`, on others each time
 *   RANDOM_RUNS=20000                    so often
 *   RANDOM_SEED=7                        on those of this seed, again
 *
 * @param example the code of an input, as the test's list of examples has it
 */
export function randomRuns<T>(
  { usual, deep }: { readonly usual: number; readonly deep: number },
  example: (input: T) => string = fc.stringify,
): { readonly numRuns: number; readonly seed: number; readonly reporter: (run: fc.RunDetails<T>) => void } {
  const { RANDOM_RUNS: runs, RANDOM_SEED: seed } = process.env;
  const numRuns = runs === undefined ? usual : runs === 'deep' ? deep : Number(runs);
  return {
    numRuns,
    seed: seed !== undefined ? Number(seed) : runs === undefined ? 1 : Date.now() % 2 ** 31,
    reporter: (run) => {
      if (!run.failed) return;
      const file = relative('.', expect.getState().testPath!);
      const again = `RANDOM_SEED=${run.seed} RANDOM_RUNS=${run.runConfiguration.numRuns} npm run jest -- ${file}`;
      const input = run.counterexample === null ? '' : `\n\nAs an example:\n${example(run.counterexample)}`;
      throw new Error(`${fc.defaultReportMessage(run)}\n\nAgain: ${again}${input}`, { cause: run.errorInstance });
    },
  };
}
