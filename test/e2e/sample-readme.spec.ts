import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, sharedRedisUrl } from '../support/redis-server.js';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

describe('the commands of sample/README.md', () => {
  let directory: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sample-readme-'));
    const file = join(directory, 'sale.sqlite');
    env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: '', DATABASE_FILE: file, REDIS_URL: sharedRedisUrl() };
  });
  afterAll(() => rm(directory, { recursive: true }));

  /** The script on ports that are free, with an event of its own. */
  const script = async (name: string, ports: Record<string, number>) => {
    const text = await readFile(join(root, 'sample', name), 'utf8');
    const onPorts = Object.entries(ports).reduce((all, [port, free]) => all.replaceAll(port, String(free)), text);
    return onPorts.replaceAll('gig', randomUUID());
  };

  it('play.sh puts an event on sale, sells a ticket and shows the stock', async () => {
    const port = await freePort();
    const server = spawn(process.execPath, [join(root, 'dist/sample/sample/src/main.js')], {
      env: { ...env, SALE_GUARD: 'lock', PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let output = '';
      server.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      while (!output.includes('successfully started')) await once(server.stdout, 'data');
      const { stdout } = await run('bash', ['-c', await script('play.sh', { 3000: port })], { env });
      const [onSale, order, status] = stdout
        .replaceAll('}{', '}\n{')
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
      expect(onSale).toMatchObject({ capacity: 3, left: 3, sold: 0, orders: 0 });
      expect(order).toMatchObject({ buyer: 'Ann' });
      expect(status).toMatchObject({ capacity: 3, left: 2, sold: 1, orders: 1 });
    } finally {
      const exit = once(server, 'exit');
      server.kill('SIGKILL');
      await exit;
    }
  });

  it('pause.sh: the late write of a process that slept through its lease is refused', async () => {
    const text = await script('pause.sh', { 3001: await freePort(), 3002: await freePort() });
    // A group of its own, so that the servers end with it when something goes wrong.
    const shell = spawn('bash', ['-c', text], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    let stdout = '';
    shell.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
    try {
      expect(await once(shell, 'exit')).toEqual([0, null]);
    } finally {
      if (shell.exitCode === null) process.kill(-shell.pid!, 'SIGKILL');
    }
    const answers = stdout.split('\n').filter((line) => /^(\d{3}|\{.*\})$/.test(line));
    expect(answers.filter((line) => line.length === 3)).toEqual(['201', '409']);
    expect(stdout).toContain('in other hands by now');
  }, 60_000);
});
