/**
 * Builds the sample's processes into dist/sample, unless their sources are the same as at the last time. For its programs and their tests.
 *
 *   node scripts/sample.mjs demo --help   builds, then runs a program of the sample; stdout is the program's alone
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, fingerprint } from './build.mjs';
import { root, runNode, tool } from './run.mjs';

const stamp = join(root, 'dist', '.sample-sources');

/** @throws what the compiler says */
export async function buildSample() {
  await build({ ifStale: true });
  const sources = fingerprint(['lib', 'sample', 'scripts', 'test/support']);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === sources && existsSync(join(root, 'dist', 'sample'))) return;
  rmSync(stamp, { force: true });
  const { code, output } = await runNode([tool('@nestjs', 'cli', 'bin', 'nest.js'), 'build', 'sample']);
  if (code !== 0) throw new Error(output);
  writeFileSync(stamp, sources);
}

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const child = spawn(process.execPath, [`dist/sample/sample/${program}/main.js`, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  // Ctrl-C reaches the program as well; it cleans up, and we wait for it.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => (process.exitCode = code ?? 1));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [program = '', ...args] = process.argv.slice(2);
  console.error('Building the package and the sample …');
  try {
    await buildSample();
    run(program, args);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
