/**
 * Everything a change must pass: lint, jest room by room, the formal model, and the packed package. The last line is
 * `N passed, N failed` (with `, N skipped` if any), over jest's tests and the checks of model and package; a step that fails
 * without tests of its own (lint, a suite that cannot be loaded, a process that does not end) counts as one failure.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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

/** What jest says when tests left a timer, socket or process behind. */
const NOT_ENDING = /Jest did not exit one second after|A worker process has failed to exit gracefully/;

/**
 * @param {string[]} rooms jest projects
 * @param {string[]} args
 */
async function jest(rooms, args) {
  heading(`jest: ${rooms.join(', ')}`);
  const file = join(results, `${rooms.join('-')}.json`);
  /** @type {NodeJS.Timeout | undefined} */
  let deadline;
  const { code, output } = await runNode(
    [
      ...['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', tool('jest', 'bin', 'jest.js')],
      ...['--selectProjects', ...rooms, '--passWithNoTests', '--json', '--outputFile', file],
      ...args,
    ],
    {
      echo: true,
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
 * @param {string} room under test/
 */
async function check(title, room) {
  heading(title);
  const file = join(results, `${room}.json`);
  const { code } = await runNode([join(root, 'test', room, 'check.mjs'), '--report', file], { echo: true });
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { passed: 0, failed: 0, skipped: 0 };
  total.passed += report.passed;
  total.skipped += report.skipped;
  total.failed += code !== 0 && report.failed === 0 ? 1 : report.failed;
}

heading('lint');
total.failed += (await lint()).length;
await jest(['unit', 'types', 'integration'], ['--maxWorkers=2']);
// Apart from the others, which keep every core busy: these mostly wait, for leases to end and processes to start.
await jest(['conformance', 'fault', 'fault-strict', 'chaos', 'e2e'], ['--maxWorkers=4']);
await check('the formal model', 'model');
await check('the packed package', 'package');

heading('all');
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`);
process.exitCode = total.failed > 0 ? 1 : 0;
