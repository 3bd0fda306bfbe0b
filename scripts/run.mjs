import { spawn } from 'node:child_process';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..');

/** @param {string[]} path inside node_modules */
export const tool = (...path) => join(root, 'node_modules', ...path);

/** Runs a Node program in the repository. Returns its exit code and its output.
 * @param {string[]} args
 * @param {{ command?: string, echo?: boolean, env?: NodeJS.ProcessEnv, cwd?: string, signal?: AbortSignal, onOutput?: (output: string, kill: () => void) => void }} [options]
 *   command: another program than this Node; echo: print while it runs; onOutput: sees all the output after each piece
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runNode(
  args,
  { command = process.execPath, echo = false, env = {}, cwd = root, signal, onOutput } = {},
) {
  const colour = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...colour, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      output += chunk;
      if (echo) process.stdout.write(chunk);
      onOutput?.(output, () => child.kill('SIGKILL'));
    });
  }
  signal?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/** @param {number} since performance.now() */
export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
