/**
 * Runs the checks, and ends with the line `N passed, N failed` (with `, N skipped` if any).
 *
 *   node scripts/test.mjs quick         what each change must pass: lint, and the jest rooms that need a few minutes (npm test)
 *   node scripts/test.mjs deep          the long rest: random runs under a fresh seed, faults, fleets of processes, the formal model, the packed package (npm run test:deep)
 *   node scripts/test.mjs quick deep    both, and one sum (.ci/run)
 *   node scripts/test.mjs quick leaders the files of a subject in that part: npm test -- leaders (test/README.md has the subjects)
 *
 * The sum counts jest's tests and the checks of model and package. A step that fails without tests of its own (lint, a suite that cannot be
 * loaded, a process that does not end) counts as one failure.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { filesOf } from '../test/subjects.mjs';
import { build } from './build.mjs';
import { lint } from './lint.mjs';
import { root, runNode, seconds, tool } from './run.mjs';

const results = join(root, 'dist', 'test-results');
rmSync(results, { recursive: true, force: true });
mkdirSync(results, { recursive: true });

const total = { passed: 0, failed: 0, skipped: 0 };
const begin = performance.now();

/** @param {string} title */
function heading(title) {
  console.log(`\n── ${title} ${'─'.repeat(Math.max(0, 70 - title.length))} ${seconds(begin)}`);
}

/** The message of jest when tests left a timer, socket or process behind. */
const NOT_ENDING = /Jest did not exit one second after|A worker process has failed to exit gracefully/;

/**
 * A room that no pattern of the run reaches would be left out in silence. `fault-strict` has files of `fault`.
 * @param {{ testResults: { name: string }[] }} report
 * @param {string} room
 */
const hasTests = ({ testResults }, room) =>
  testResults.some(({ name }) => name.startsWith(join(root, 'test', room.replace('-strict', '')) + sep));

/**
 * @param {string[]} rooms jest projects
 * @param {string[]} args
 * @param {{ title?: string, env?: NodeJS.ProcessEnv }} [options]
 */
async function jest(rooms, args, { title = rooms.join(', '), env } = {}) {
  heading(`jest: ${title}`);
  const file = join(results, `${rooms.join('-')}.json`);
  /** @type {NodeJS.Timeout | undefined} */
  let deadline;
  const { code, output } = await runNode(
    [
      ...['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', tool('jest', 'bin', 'jest.js')],
      ...['--selectProjects', ...rooms, '--json', '--outputFile', file],
      ...args,
    ],
    {
      echo: true,
      env,
      onOutput: (text, kill) => {
        if (NOT_ENDING.test(text)) deadline ??= setTimeout(kill, 5_000);
      },
    },
  );
  clearTimeout(deadline);
  let failed = 0;
  if (existsSync(file)) {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    total.passed += report.numPassedTests;
    total.skipped += report.numPendingTests + report.numTodoTests;
    failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
    // jest is content when one of them has tests.
    for (const room of rooms.filter((name) => !hasTests(report, name))) {
      console.log(`✗ no test of the room ${room} ran`);
      failed += 1;
    }
  }
  if (NOT_ENDING.test(output)) {
    console.log('✗ jest did not end by itself: a test left something open');
    failed += 1;
  }
  total.failed += code !== 0 && failed === 0 ? 1 : failed;
}

/**
 * A check of its own: a program that prints what it does and reports its numbers.
 * @param {string} title
 * @param {string} program under test/
 */
async function check(title, program) {
  heading(title);
  const file = join(results, `${program.replaceAll('/', '-')}.json`);
  const { code } = await runNode([join(root, 'test', program), '--report', file], { echo: true });
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { passed: 0, failed: 0, skipped: 0 };
  total.passed += report.passed;
  total.skipped += report.skipped;
  total.failed += code !== 0 && report.failed === 0 ? 1 : report.failed;
}

/** Tests that try random inputs (test/support/random-runs.ts), and are quick enough for many. */
const random = 'unit/(random-calls|lab/walks|quorum/tokens)|integration/engine/(table|several-names)';

/** Every backend but memory and one Redis, with which most changes show what they break. */
const deepConformance = 'conformance/(cluster|sentinel|redis-ioredis5|quorum|redisson|valkey)';

const quickRooms = ['unit', 'types', 'integration', 'conformance'];
const deepRooms = ['conformance', 'fault', 'fault-strict', 'chaos', 'e2e', 'redisson'];
const isDeep = new RegExp(`${deepConformance}|^(fault|chaos|redisson|e2e)/`);

/** @type {Record<string, () => Promise<void>>} */
const parts = {
  quick: async () => {
    heading('build, and lint beside what follows');
    // Once, before those that need it at the same time.
    await build({ ifStale: true });
    const linted = lint(undefined, 1);
    // Three for two cores: some of them mostly wait, for leases to end and processes to start.
    await jest(quickRooms, ['--maxWorkers=3', '--testPathIgnorePatterns', deepConformance]);
    total.failed += (await linted).length;
  },
  deep: async () => {
    // The room redisson: a peer in TypeScript, and Redisson itself, three versions side by side. They wait more than they work.
    const seed = process.env['RANDOM_SEED'] ?? String(Date.now() % 2 ** 31);
    const env = { RANDOM_SEED: seed, RANDOM_RUNS: process.env['RANDOM_RUNS'] ?? 'deep' };
    const title = `random runs, RANDOM_SEED=${seed} RANDOM_RUNS=${env.RANDOM_RUNS}`;
    await jest(['unit', 'integration'], ['--maxWorkers=3', '--testPathPatterns', random], { title, env });
    const files = `${deepConformance}|test/(fault|chaos|redisson|e2e)/`;
    // As above. With four, the browsers of e2e are too slow for the waits of their tests.
    await jest(deepRooms, ['--maxWorkers=3', '--testPathPatterns', files], { env });
    await check('the formal model', 'model/check.mjs');
    await check('the packed package', 'package/check.mjs');
  },
};

/**
 * Runs the files of subjects that belong to a part.
 * @param {string} part
 * @param {string[]} names
 */
async function filesOfPart(part, names) {
  const files = filesOf(names).filter((path) => isDeep.test(path) === (part === 'deep'));
  if (files.length === 0) {
    console.log(`${names.join(' and ')}: no file is ${part}`);
    return;
  }
  const rooms = (part === 'deep' ? deepRooms : quickRooms).filter((room) =>
    files.some((path) => path.startsWith(`${room}/`)),
  );
  await jest(rooms, ['--maxWorkers=3', '--runTestsByPath', ...files.map((path) => join(root, 'test', path))]);
}

const given = process.argv.slice(2);
const asked = given.filter((word) => word in parts);
const names = given.filter((word) => !(word in parts));
if (asked.length === 0) throw new Error(`node scripts/test.mjs ${Object.keys(parts).join('|')} …`);
try {
  filesOf(names);
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exit(1);
}
for (const part of asked) await (names.length > 0 ? filesOfPart(part, names) : parts[part]?.());

heading(given.join(' and '));
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`);
process.exitCode = total.failed > 0 ? 1 : 0;
