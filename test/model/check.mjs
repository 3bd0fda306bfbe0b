/**
 * The formal model of the hand-off, explored whole by spin: cases.mjs says what must hold, and what must break when a protection is missing.
 *
 *   node test/model/check.mjs [--report file.json] [--keep] [words of a title …]
 *
 * --keep leaves the generated programs and traces behind. Needs spin and gcc; without them everything counts as skipped.
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, seconds } from '../../scripts/run.mjs';
import { properties, scenarios } from './cases.mjs';

const here = import.meta.dirname;
const sources = readdirSync(here).filter((file) => file.endsWith('.pml'));
/** Longer than any of them takes, with everything else of the machine at work. */
const longest = 300_000;

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { report: { type: 'string' }, keep: { type: 'boolean', default: false } },
});

/**
 * @typedef {object} Check
 * @property {string} title
 * @property {'handoff' | 'live' | 'sharing'} model
 * @property {string[]} flags
 * @property {boolean} [compact]
 * @property {import('./cases.mjs').Property} [breaks] undefined: every property holds
 */
/** @type {Check[]} */
const checks = scenarios
  .flatMap(({ model, title, flags, compact, mutants }) => [
    { title, model, flags, compact },
    ...mutants.map((mutant) => ({
      title: `${title}: “${mutant.breaks}” breaks with ${mutant.title}`,
      model,
      flags: [...flags, ...(mutant.flags ?? []), `-D${mutant.without}`],
      breaks: mutant.breaks,
    })),
  ])
  .filter(({ title }) => title.includes(words.join(' ')));

const missing = ['spin', 'gcc'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined);
const directory = mkdtempSync(join(tmpdir(), 'redis-lock-model-'));
const total = { passed: 0, failed: 0, skipped: 0 };

/**
 * @param {string} title
 * @param {string | undefined} problem
 * @param {number} since
 */
function tell(title, problem, since) {
  total[problem === undefined ? 'passed' : 'failed'] += 1;
  console.log(`${problem === undefined ? '✓' : '✗'} ${title} (${seconds(since)})`);
  if (problem !== undefined) console.log(problem.replaceAll(/^/gm, '    '));
}

/** Returns its output; its exit code says nothing that the report does not.
 * @param {string} file
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<string>}
 */
const run = (file, args, cwd) =>
  new Promise((resolve) => {
    execFile(
      file,
      args,
      { cwd, timeout: longest, killSignal: 'SIGKILL', maxBuffer: 1 << 26 },
      (error, stdout, stderr) =>
        resolve(stdout + stderr + (error?.killed ? `\n${file} was stopped after ${longest} ms` : '')),
    );
  });

/**
 * @param {Check} check
 * @param {number} number
 * @returns {Promise<string | undefined>} what is wrong
 */
async function explore({ model, flags, compact, breaks }, number) {
  const room = join(directory, String(number));
  mkdirSync(room);
  for (const file of sources) copyFileSync(join(here, file), join(room, file));
  const source = `${model}.pml`;
  const spun = await run('spin', ['-a', ...flags, source], room);
  // Compiling takes longer than finding a fault; what is explored whole is worth it.
  const tune = [
    breaks ? '-O0' : '-O1',
    model === 'live' ? '-DNFAIR=4' : '-DSAFETY',
    '-DMEMLIM=4000',
    '-w',
    ...(compact ? ['-DHC4'] : []),
  ];
  const compiled = await run('gcc', [...tune, '-o', 'pan', 'pan.c'], room);
  if (!existsSync(join(room, 'pan'))) return spun + compiled;
  const report = await run(
    './pan',
    ['-n', '-m100000', ...(compact ? ['-w26'] : []), ...(model === 'live' ? ['-a', '-f'] : [])],
    room,
  );
  const found = /^pan:1: (.*)$/m.exec(report)?.[1];
  const whole = !/Search not completed|search depth too small/.test(report);
  if (breaks === undefined) {
    if (/errors: 0$/m.test(report) && whole) return undefined;
    return `${found ?? report}\n${existsSync(join(room, `${source}.trail`)) ? await trace(flags, source, room) : ''}`;
  }
  if (found !== undefined && properties[breaks].test(found)) return undefined;
  return found === undefined ? `nothing broke\n${report}` : `something else broke: ${found}`;
}

/** The steps that led to the fault, as the model prints them.
 * @param {string[]} flags
 * @param {string} source
 * @param {string} room
 */
async function trace(flags, source, room) {
  const lines = (await run('spin', ['-t', ...flags, source], room)).split('\n');
  return lines
    .slice(0, lines.findIndex((line) => line.startsWith('spin:')) + 1)
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A comment that names a file which is not there (any more) has lost what it stands for. */
function tiedToTheCode() {
  const text = sources.map((file) => readFileSync(join(here, file), 'utf8')).join();
  const named = new Set(`${text} ${JSON.stringify(scenarios)}`.match(/[\w-]+\.(?:ts|lua)\b/g));
  const there = new Set(
    readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
  );
  const lost = [...named].filter((file) => !there.has(file));
  return lost.length === 0 ? undefined : `not in lib: ${lost.join(', ')}`;
}

if (missing.length > 0) {
  total.skipped = checks.length;
  console.log(
    `!! SKIPPED: ${checks.length} checks of the formal model: ${missing.join(' and ')} not found (apt-get install -y spin gcc libc6-dev)`,
  );
} else {
  // The largest takes as long as half of the others together: it would be explored alone at the end.
  const queue = checks
    .map((check, number) => ({ check, number }))
    .toSorted((one, other) => Number(other.check.compact ?? false) - Number(one.check.compact ?? false));
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const start = performance.now();
      tell(next.check.title, await explore(next.check, next.number), start);
      if (!options.keep) rmSync(join(directory, String(next.number)), { recursive: true });
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, worker));
}
const start = performance.now();
tell('every file that the model names is there', tiedToTheCode(), start);

if (options.keep) console.log(`kept in ${directory}`);
else rmSync(directory, { recursive: true, force: true });
console.log(`model: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (options.report !== undefined) writeFileSync(options.report, JSON.stringify(total));
process.exitCode = total.failed > 0 ? 1 : 0;
