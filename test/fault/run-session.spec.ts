import { randomUUID } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { CliProcess, program } from '../support/cli-process.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

let server: RedisServer;
let locks: RedisLockClient;
let directory: string;
let file: string;
let name: string;

beforeAll(async () => {
  server = await startRedis();
  locks = createLockClient({ redis: server.url, shutdownTimeout: 0, log: { log() {}, warn() {}, error() {} } });
});
afterAll(async () => {
  await locks.close();
  await server.stop();
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lock-session-'));
  chmodSync(directory, 0o755);
  file = join(directory, 'record');
  writeFileSync(file, '');
  name = `session:${randomUUID()}`;
});
// A worker that has escaped ends with its record.
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const record = (): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);

/** Looks at the record until it is so. */
async function recorded(isSo: (lines: string[]) => boolean): Promise<void> {
  while (!isSo(record())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A program that ignores what a polite end is, and writes its word again and again, for as long as there is a record. */
function stubborn(word: string): string {
  const path = join(directory, word);
  writeFileSync(
    path,
    `#!/bin/sh\ntrap "" TERM HUP INT\nwhile test -e ${file}; do echo ${word} >> ${file}; sleep 0.02; done\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

const run = (args: readonly string[], options: ConstructorParameters<typeof CliProcess>[1] = {}): CliProcess =>
  new CliProcess(['run', name, ...args], { redis: server.url, ...options });
const next = (): CliProcess => run(['--', 'sh', '-c', `echo next >> ${file}`]);
const bash = (script: string): string[] => ['--', 'bash', '-c', script];
/** The program believes that it runs on macOS, which does not tell the session of a process. */
const onMacOs = `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'darwin'})`;
/** A fifth of `grace` is left for SIGKILL: on a busy machine that has to be enough. */
const terms = ['--lease', '6s', '--grace', '2900ms'];

/** The next holder waits, the first one has ended, and no line of its command stands behind that of the next one. */
async function expectOneAtATime(first: CliProcess, end: () => unknown, code: number): Promise<void> {
  await using second = next();
  while ((await locks.inspect(name)).waiters.length === 0);
  await end();
  expect(await first.exited).toBe(code);
  expect(await second.exited).toBe(0);
  expect(record().at(-1)).toBe('next');
  expect(spawnSync('pgrep', ['-f', join(directory, 'worker')])).toMatchObject({ status: 1 });
}

const nested = (command: string): string =>
  `${process.execPath} ${program} run ${name}:inside --url ${server.url} -- ${command}`;

describe('the command of run is dead before the lock is another holder’s, also the part of it that has left its group', () => {
  it.each([
    ['a step under timeout', (worker: string) => `timeout 60 ${worker}`],
    ['a job of set -m', (worker: string) => `set -m; ${worker} & wait`],
    ['a step under nohup', (worker: string) => `nohup ${worker}`],
    ['a session of its own, while its parent lives (setsid)', (worker: string) => `setsid -w ${worker}; true`],
    ['the command of a run inside', nested],
  ])('when the lock cannot be kept: %s', async (_what, script) => {
    const worker = stubborn('worker');
    await using proxy = await TcpProxy.to(server.port);
    await using first = run([...terms, ...bash(script(worker))], { redis: proxy.url });
    await recorded((lines) => lines.includes('worker'));
    await expectOneAtATime(first, () => proxy.close(), 76);
  });

  it('when the lock cannot be kept, where no session is known (macOS): a step under timeout, whose parent ends before it', async () => {
    const worker = stubborn('worker');
    await using proxy = await TcpProxy.to(server.port);
    const options = { redis: proxy.url, env: { NODE_OPTIONS: onMacOs, PATH: `${directory}:${process.env['PATH']}` } };
    // That of Linux calculates the start of a process from a time of boot that varies by a second.
    const fields = `s/^([0-9]+) .*\\) (\\S) ([0-9]+) ([0-9]+) ([^ ]+ ){16}([0-9]+) .*/\\1 \\3 \\4 \\2 \\6/`;
    const ps = `#!/bin/sh\ncat /proc/[0-9]*/stat 2> /dev/null | sed -E '${fields}'\n`;
    writeFileSync(join(directory, 'ps'), ps, { mode: 0o755 });
    await using first = run([...terms, ...bash(`timeout 60 ${worker}; true`)], options);
    await recorded((lines) => lines.includes('worker'));
    await expectOneAtATime(first, () => proxy.close(), 76);
  });

  it.each([
    ['a step under timeout', (worker: string) => `timeout 60 ${worker} &`],
    ['a job of set -m', (worker: string) => `set -m; ${worker} &`],
    ['a step under nohup', (worker: string) => `nohup ${worker} &`],
    ['a job of set -m below a job of set -m', (worker: string) => `set -m; bash -c 'set -m; ${worker} &' &`],
  ])('when it has left work behind: %s', async (_what, script) => {
    const worker = stubborn('worker');
    const until = join(directory, 'until');
    await using first = run([
      ...['--lease', '10s', '--grace', '300ms'],
      ...bash(`${script(worker)}\nuntil test -e ${until}; do sleep 0.02; done; exit 4`),
    ]);
    await recorded((lines) => lines.includes('worker'));
    await expectOneAtATime(first, () => writeFileSync(until, ''), 4);
    expect(first.errors).toContain('left processes behind');
  });
});

it('a signal reaches the steps that have left the group of the command', async () => {
  const step = `trap 'echo farewell >> ${file}; exit 0' TERM; echo ready >> ${file}; while test -e ${file}; do sleep 0.02; done`;
  const path = join(directory, 'step');
  writeFileSync(path, `#!/bin/sh\n${step}\n`);
  chmodSync(path, 0o755);
  await using first = run(bash(`set -m; ${path} & wait; wait`));
  await recorded((lines) => lines.includes('ready'));
  first.send('SIGTERM');
  expect(await first.exited).toBe(143);
  expect(record()).toEqual(['ready', 'farewell']);
});

it('the limit: a daemon, in a session of its own and without a parent, works on after the command', async () => {
  const worker = stubborn('worker');
  await using first = run(bash(`setsid ${worker} & until test -s ${file}; do sleep 0.02; done`));
  expect(await first.exited).toBe(0);
  const seen = record().length;
  await recorded((lines) => lines.length > seen);
  expect(first.errors).toBe('');
});

it('does not wait for a dead process that no one collects', async () => {
  // The parent becomes a program that collects nothing; both are in the session.
  const zombie = `sleep 0 & exec sleep 60`;
  await using first = run(['--', 'sh', '-c', zombie]);
  const parent = await childOf(first.pid);
  const dead = await childOf(parent);
  while (!readFileSync(`/proc/${dead}/stat`, 'utf8').includes(') Z '));
  process.kill(parent, 'SIGKILL');
  expect(await first.exited).toBe(137);
  expect(first.errors).toBe('');
});

/** When there is one. */
async function childOf(pid: number): Promise<number> {
  for (;;) {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    if (child) return Number(child);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it('names a process that it cannot end, because it is another user’s, and does not wait for it forever', async () => {
  const setuid = join(directory, 'setpriv');
  copyFileSync('/usr/bin/setpriv', setuid);
  chmodSync(setuid, 0o4755);
  const worker = `echo $$; trap "" TERM; echo here > ${file}; while test -e ${file}; do sleep 0.02; done`;
  chmodSync(file, 0o666);
  const script = `${setuid} --reuid 0 sh -c '${worker}' & until test -s ${file}; do sleep 0.02; done`;
  await using first = run(['--grace', '200ms', ...bash(script)], {
    inTerminal: (command) => ['setpriv', '--reuid', '54321', '--clear-groups', '--', 'sh', '-c', command],
  });
  const [, pid] = await first.says(/^(\d+)\n/);
  expect(await first.exited).toBe(0);
  expect(first.errors).toMatch(new RegExp(`works on without the lock.*: ${pid}\\b`));
});
