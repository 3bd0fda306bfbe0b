/**
 * Runs the published program again and again in one process, which has loaded its packages: a command then takes a tenth of the time.
 * Forked by cli-process.ts. What the program writes and its exit code go back in one message.
 */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const program = pathToFileURL(String(process.argv[2])).href;
const said = { output: '', errors: '' };
const { createWriteStream } = fs;

// Its standard error is a stream of its own.
fs.createWriteStream = (path, /** @type {any} */ options) =>
  options?.fd === 2
    ? /** @type {any} */ (
        new Writable({
          write(chunk, _encoding, done) {
            said.errors += chunk;
            done();
          },
        })
      )
    : createWriteStream(path, options);
syncBuiltinESMExports();
process.stdout.write = (/** @type {string | Uint8Array} */ text) => {
  said.output += text;
  return true;
};

const evaluations = new URL(program);

async function run(/** @type {{ args: string[], redis?: string }} */ { args, redis }) {
  Object.assign(said, { output: '', errors: '' });
  const { REDIS_URL } = process.env;
  process.argv.splice(2, Infinity, ...args);
  if (redis !== undefined) process.env['REDIS_URL'] = redis;
  process.exitCode = undefined;
  // Another query: the program is evaluated anew, and what it imports is there.
  evaluations.search = randomUUID();
  await import(evaluations.href);
  while (process.exitCode === undefined) await sleep(1);
  const code = process.exitCode;
  process.exitCode = undefined;
  process.stdout.removeAllListeners('error');
  if (REDIS_URL !== undefined) process.env['REDIS_URL'] = REDIS_URL;
  process.send?.({ code, ...said });
}

process.on('message', (/** @type {{ args: string[], redis?: string }} */ command) => void run(command));
