/** Builds the package and the sample, then runs a program of the sample: `node scripts/sample.mjs demo --help`. stdout is the program's alone. */
import { spawn } from 'node:child_process';
import { buildSample } from './build-sample.mjs';
import { root } from './run.mjs';

const [program = '', ...args] = process.argv.slice(2);

console.error('Building the package and the sample …');
try {
  await buildSample();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

const child = spawn(process.execPath, [`dist/sample/sample/${program}/main.js`, ...args], {
  cwd: root,
  stdio: 'inherit',
});
// Ctrl-C reaches the program as well; it cleans up, and we wait for it.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal));
child.on('exit', (code) => (process.exitCode = code ?? 1));
