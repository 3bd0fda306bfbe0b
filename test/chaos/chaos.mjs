/**
 * npm run test:chaos: a long random run of chaos.spec.ts.
 *
 *   npm run test:chaos                              two minutes, with a seed of its own
 *   npm run test:chaos -- --seed 7 --minutes 0.5    the faults of seed 7
 */
import { parseArgs } from 'node:util';
import { root, runNode, tool } from '../../scripts/run.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    minutes: { type: 'string', default: '2' },
  },
});
if (!/^\d+$/.test(values.seed)) throw new Error(`--seed ${values.seed}: a whole number expected`);
if (!(Number(values.minutes) > 0)) throw new Error(`--minutes ${values.minutes}: a number above 0 expected`);
console.log(`npm run test:chaos -- --seed ${values.seed} --minutes ${values.minutes}`);
const { code } = await runNode(
  [
    ...['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', tool('jest', 'bin', 'jest.js')],
    ...['--selectProjects', 'chaos', '--testPathPatterns', 'chaos.spec', '-t', 'under the faults of seed'],
  ],
  { echo: true, cwd: root, env: { CHAOS_SEED: values.seed, CHAOS_MINUTES: values.minutes } },
);
process.exitCode = code;
