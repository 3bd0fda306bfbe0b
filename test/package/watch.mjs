import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** What `nest start --watch` needs beside the application's own packages. @type {Record<string, Record<string, string>>} */
export const WATCHING = {
  'Nest 12, ioredis 6': { '@nestjs/cli': '12.0.8', '@swc/cli': '0.8.1' },
  'Nest 11, ioredis 5': { '@nestjs/cli': '11.0.13' },
};

/** Milliseconds for one step of Nest's command line. */
const PATIENCE = 60_000;

/**
 * `nest start --watch`, as Nest creates a project, and a save while a locked request runs: the new process starts beside the old one, which
 * ends its work.
 * @param {import('./app.mjs').App} app
 * @param {'tsc' | 'swc'} builder
 * @param {string} redisUrl
 */
export async function savedWhileLocked(app, builder, redisUrl) {
  const project = join(app.directory, 'watched');
  const main = join(project, 'src', 'main.ts');
  mkdirSync(join(project, 'src'), { recursive: true });
  cpSync(join(app.directory, 'apps', 'watched.ts'), main);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'watched', private: true }));
  writeFileSync(join(project, 'nest-cli.json'), JSON.stringify({ sourceRoot: 'src', compilerOptions: { builder } }));
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'ES2023', rootDir: 'src', outDir: 'dist', skipLibCheck: true, types: ['node'] },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, incremental: true },
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));

  const port = await freePort();
  const nest = join(app.directory, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const child = spawn(process.execPath, [nest, 'start', '--watch'], {
    cwd: project,
    // A group of its own: the command line starts a shell, and that the application.
    detached: true,
    env: { ...process.env, NODE_OPTIONS: '', REDIS_URL: redisUrl, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const says = async (/** @type {string} */ words) => {
    const end = AbortSignal.timeout(PATIENCE);
    while (!output.includes(words)) {
      if (end.aborted || output.includes('EADDRINUSE')) throw new Error(`no '${words}' in:\n${output}`);
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), once(end, 'abort')]);
    }
  };
  try {
    await says('edition 1 listens');
    const selling = fetch(`http://127.0.0.1:${port}/sell`).then((response) => response.text(), String);
    await says('edition 1 sells');
    writeFileSync(main, readFileSync(main, 'utf8').replace('Number(1)', 'Number(2)'));
    // The old process sells until the new one says so in Redis.
    await says('edition 2 listens');
    const sold = await selling;
    if (sold !== 'sold by edition 1') throw new Error(`the old process answered: ${sold}\n${output}`);
    const next = await fetch(`http://127.0.0.1:${port}/sell`).then((response) => response.text());
    if (next !== 'sold by edition 2') throw new Error(`the new process answered: ${next}\n${output}`);
  } finally {
    process.kill(-(/** @type {number} */ (child.pid)), 'SIGKILL');
    await once(child, 'close');
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}
