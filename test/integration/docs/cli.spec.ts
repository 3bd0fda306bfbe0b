import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { snippet } from '../../../scripts/write-snippets.mjs';
import { exitCode, program } from '../../support/cli-process.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';

const file = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
const script = file('examples/cli.sh');

let server: RedisServer;
let locks: RedisLockClient;
let directory: string;

beforeAll(async () => {
  server = await startRedis();
  locks = createLockClient({ redis: server.url, log: { log() {}, warn() {}, error() {} } });
  directory = mkdtempSync(join(tmpdir(), 'lock-docs-'));
  const command = (name: string, text: string): void => {
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(directory, name), 0o755);
  };
  command('npx', `shift; exec ${process.execPath} ${program} "$@"`);
  command('jq', `exec ${process.execPath} -p 'JSON.parse(require("node:fs").readFileSync(0)).holders[0].fencingToken'`);
  command('report.sh', 'echo "report $* with $LOCK_NAME"');
  command('import-feeds', 'echo "feeds with $LOCK_NAME"');
  writeFileSync(join(directory, 'locks.url'), server.url);
});
afterAll(async () => {
  await locks.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** As in a shell, on the server of this test. */
async function sh(text: string): Promise<{ code: unknown; output: string }> {
  const here = text
    .replaceAll('redis://127.0.0.1:6379', server.url)
    .replaceAll('/etc/locks.url', join(directory, 'locks.url'));
  const env = { ...process.env, NODE_OPTIONS: '', PATH: `${directory}:${process.env['PATH']}`, REDIS_URL: server.url };
  const shell = spawn('sh', ['-ec', here], { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  shell.stdout.setEncoding('utf8').on('data', (more: string) => (output += more));
  const [code] = (await once(shell, 'close')) as unknown[];
  return { code, output };
}

const region = (name: string): string => snippet(script, name)!;

/** Without the numbers, the host, and the room that they take. */
const form = (text: string): string =>
  text
    .replaceAll(/\([\w.-]+:\d+\)/g, '(process)')
    .replaceAll(/^[\w.-]+:\d+$/gm, 'process')
    .replaceAll(/\d+(\.\d+)?/g, 'n')
    .replaceAll(/ +/g, ' ');

describe("docs/reference/cli.md's commands", () => {
  it('look at locks as the page shows', async () => {
    await using lock = await locks.acquire('report:daily', { label: 'ReportBuilder' });
    const stop = new AbortController();
    await using other = createLockClient({ redis: server.url });
    const waiting = other.acquire('report:daily', { label: 'import 7', signal: stop.signal }).catch(() => undefined);
    while (!(await sh('npx nestjs-redis-lock tree')).output.includes('import 7'));
    const { code, output } = await sh(region('look'));
    expect(code).toBe(0);
    expect(form(output)).toContain(form(file('examples/output/ls.txt')));
    expect(form(output)).toContain(form(file('examples/output/tree.txt')));
    expect(output).toContain(`token ${lock.fencingToken}`);
    expect(output).toContain('LOCK_DOCTOR_PERSISTENCE');
    stop.abort();
    await waiting;
  });

  it('release a lock by its token', async () => {
    const lock = await locks.acquire('report:daily');
    expect(await sh(region('release'))).toMatchObject({
      code: 0,
      output: expect.stringContaining('hangs since 02:40'),
    });
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('run a program under a lock, in a shell, in a crontab, and tied to the runner', async () => {
    const report = { code: 0, output: 'report --date today with report:daily\n' };
    expect(await sh(region('run'))).toEqual(report);
    expect(await sh(region('tied'))).toEqual(report);
    const cron = region('cron').replace(/^(\S+ +){5}/, '');
    expect(await sh(cron)).toEqual({ code: 0, output: 'feeds with feeds\n' });
    // On the next machine.
    expect(await sh(cron)).toEqual({ code: 0, output: '' });
  });
});

it('the exit codes of docs/reference/cli.md are those of the program', async () => {
  const page = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8').split(
    '## Exit codes',
  )[1]!;
  const documented = [...page.matchAll(/^\| ([\d, +n]+) \|/gm)].flatMap(([, codes]) =>
    codes!.match(/\d+/g)!.map(Number),
  );
  expect(new Set(documented)).toEqual(new Set<number>(Object.values(exitCode)));
});
