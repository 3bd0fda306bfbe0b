/**
 * Builds the package. tsc compiles the sources once, file by file, into dist/modules (tests and tools load internals from there), and a
 * roll-up makes of them what is published: dist/esm and dist/cjs, with one file for each entry, and one for what they share.
 *
 *   node scripts/build.mjs              from scratch; type errors fail
 *   node scripts/build.mjs --if-stale   only when the sources have changed, and without the check of types: lint has it
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeGenerated } from './embed.mjs';
import { rollUp, rollUpSuite } from './roll-up.mjs';
import { root, runNode, tool } from './run.mjs';

/** The file that is published, without its extension, and its source. package.json names the same entries in `exports`. */
export const ENTRIES = {
  index: 'lib/index',
  testing: 'lib/testing/index',
  backend: 'lib/connection/backend',
  console: 'lib/console/index',
  otel: 'lib/telemetry/otel/index',
  client: 'lib/client/index',
  prometheus: 'lib/telemetry/prometheus/index',
  terminus: 'lib/telemetry/terminus/index',
};

/** What worker threads run: JavaScript that no file imports, beside the file that starts the thread. */
const THREADS = { 'renewal-worker': 'lib/worker/renewal-worker' };

/** What a shell runs: no code imports it, and it is an ES module only. */
const PROGRAMS = { cli: 'lib/cli/main' };

/** The directories that are compiled; tsconfig.build.json includes the same. */
const SOURCES = ['lib', 'conformance'];

const dist = join(root, 'dist');
/** What a build makes, and its place. */
const OUTPUT = {
  ...Object.fromEntries(['modules', 'esm', 'cjs', 'contents.json'].map((name) => [name, join(dist, name)])),
  conformance: join(root, 'conformance', 'dist'),
};
/** Beside the output, not in it. */
const stamp = join(dist, '.sources');

/** What the output depends on: the sources, the compiler's settings and the tools. @param {string[]} [directories] */
export function fingerprint(directories = SOURCES) {
  const hash = createHash('sha1');
  const sources = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs)$|^tsconfig.*\.json$/.test(name))
      .map((name) => join(directory, name)),
  );
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
  for (const name of [...sources.toSorted(), ...settings, 'scripts/build.mjs', 'scripts/roll-up.mjs']) {
    hash
      .update(name)
      .update('\0')
      .update(readFileSync(join(root, name)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** @param {string} outDir @param {boolean} check whether type errors fail */
async function compile(outDir, check) {
  const args = ['-p', 'tsconfig.build.json', '--outDir', outDir, ...(check ? [] : ['--noCheck'])];
  const { code, output } = await runNode([tool('typescript', 'bin', 'tsc'), ...args]);
  if (code !== 0) throw new Error(output);
}

/** @param {{ ifStale?: boolean }} [options] */
export async function build({ ifStale = false } = {}) {
  await writeGenerated();
  const sources = fingerprint();
  const isCurrent =
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === sources &&
    Object.values(OUTPUT).every((place) => existsSync(place));
  if (ifStale && isCurrent) return;

  // Complete before it takes the place of what was there: another process may be using it.
  const fresh = join(dist, `.build-${process.pid}`);
  const old = join(dist, `.build-${process.pid}-old`);
  try {
    const modules = join(fresh, 'modules');
    await compile(modules, !ifStale);
    await rollUp(modules, ENTRIES, { threads: THREADS, programs: PROGRAMS }, fresh);
    await rollUpSuite(modules, join(fresh, 'conformance'));
    writeFileSync(join(fresh, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
    rmSync(stamp, { force: true });
    mkdirSync(old);
    for (const [name, place] of Object.entries(OUTPUT)) {
      if (existsSync(place)) renameSync(place, join(old, name));
      renameSync(join(fresh, name), place);
    }
    writeFileSync(stamp, sources);
  } finally {
    for (const directory of [fresh, old]) rmSync(directory, { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await build({ ifStale: process.argv.includes('--if-stale') });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
