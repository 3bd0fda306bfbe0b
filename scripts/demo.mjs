/** Builds the package and the sample, then runs the ticket sale with the arguments given. stdout is the demo's alone. */
import { spawn } from 'node:child_process';
import { buildSample } from './build-sample.mjs';
import { root } from './run.mjs';

const program = 'dist/sample/sample/demo/main.js';

console.error('Building the package and the sample …');
try {
  await buildSample();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

const child = spawn(process.execPath, [program, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
// Ctrl-C reaches the demo as well; it cleans up, and we wait for it.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => (process.exitCode = code ?? 1));
