import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLockClient } from 'nestjs-redis-lock/client';
import { CliProcess } from '../support/cli-process.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

let server: RedisServer;
let directory: string;
let file: string;
let name: string;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lock-runner-'));
  file = join(directory, 'record');
  writeFileSync(file, '');
  name = `runner:${randomUUID()}`;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const record = (): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);
/** Writes its word to the record again and again, for as long as there is one, and ignores SIGTERM. */
const stubborn = (word: string): string =>
  `trap "" TERM; echo $$; while test -e ${file}; do echo ${word} >> ${file}; sleep 0.02; done`;
const short = ['--lease', '4s', '--grace', '1900ms'];

const gone = async (pid: number): Promise<void> => {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

describe('run, whose messages no one reads', () => {
  /** Writes until there is no room. */
  function fill(pipe: number): void {
    try {
      for (;;) writeSync(pipe, 'x'.repeat(4_096));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }

  it.each(['full', 'closed'])(
    'ends the command before the next holder starts (standard error is %s)',
    async (state) => {
      const path = join(directory, 'errors');
      execFileSync('mkfifo', [path]);
      // eslint-disable-next-line no-bitwise
      const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
      await using proxy = await TcpProxy.to(server.port);
      await using first = new CliProcess(['run', name, ...short, '--', 'sh', '-c', stubborn('child')], {
        redis: proxy.url,
        inTerminal: (command) => ['sh', '-c', `${command} 2> ${path}`],
      });
      await first.says(/^\d+\n/);
      if (state === 'full') fill(pipe);
      else closeSync(pipe);
      await using second = new CliProcess(['run', name, '--', 'sh', '-c', `echo next >> ${file}`], {
        redis: server.url,
      });
      await proxy.close();
      expect(await second.exited).toBe(0);
      expect(record().filter((line) => line === 'next')).toHaveLength(1);
      expect(record().at(-1)).toBe('next');
      // The reader goes away.
      if (state === 'full') closeSync(pipe);
      expect(await first.exited).toBe(76);
    },
  );
});

describe('run', () => {
  it.each([
    ['SIGQUIT', 131],
    ['SIGUSR1', 138],
    ['SIGUSR2', 140],
  ] as const)('passes %s to the command instead of ending without it', async (signal, code) => {
    await using first = new CliProcess(['run', name, '--', 'sh', '-c', 'echo ready; exec sleep 60'], {
      redis: server.url,
    });
    await first.says(/ready/);
    first.send(signal);
    expect(await first.exited).toBe(code);
    await using next = new CliProcess(['run', name, '--wait', '0', '--', 'true'], { redis: server.url });
    expect(await next.exited).toBe(0);
  });

  it('gives a command that stands still the chance to end by itself', async () => {
    await using proxy = await TcpProxy.to(server.port);
    const stopped = `trap 'echo farewell >> ${file}; exit 3' TERM; echo here >> ${file}; echo ready; kill -STOP $$; sleep 60`;
    await using first = new CliProcess(['run', name, ...short, '--', 'sh', '-c', stopped], { redis: proxy.url });
    await first.says(/ready/);
    await proxy.close();
    expect(await first.exited).toBe(76);
    expect(record()).toEqual(['here', 'farewell']);
    expect(first.errors).not.toContain('gets SIGKILL.');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
    'passes %s to a command that stands still, which goes on to end by it',
    async (signal) => {
      const stopped = `trap 'echo farewell >> ${file}; exit 3' TERM INT HUP QUIT; echo $$; kill -STOP $$; while :; do sleep 0.02; done`;
      await using first = new CliProcess(['run', name, '--', 'sh', '-c', stopped], { redis: server.url });
      const [, child] = await first.says(/^(\d+)\n/);
      while (!readFileSync(`/proc/${child}/stat`, 'utf8').includes(') T '));
      first.send(signal);
      expect(await first.exited).toBe(3);
      expect(record()).toEqual(['farewell']);
    },
  );

  const inShell = (command: string): string[] => ['bash', '-c', command];
  const inTerminal = (command: string): string[] => ['script', '-qec', command, '/dev/null'];
  it.each([
    ['under nohup', (itself: string) => inShell(`nohup ${itself}`)],
    [
      'under nohup in a terminal, by a shell that names no program',
      (itself) => inTerminal(`env -u _ nohup ${itself} 2>&1 | cat`),
    ],
    ['below a shell that ignores it', (itself) => inShell(`trap '' HUP; ${itself}; exit $?`)],
  ] as Array<[string, (itself: string) => string[]]>)(
    'goes on after SIGHUP %s, and so does its command',
    async (_how, shell) => {
      const command = `trap 'echo ended; exit 9' USR1; echo $PPID; while :; do sleep 0.02; done`;
      await using first = new CliProcess(['run', name, '--', 'sh', '-c', command], {
        redis: server.url,
        inTerminal: (itself) => shell(itself.replace('exec ', '')),
      });
      const runner = Number((await first.says(/(\d+)\r?\n/))[1]);
      process.kill(runner, 'SIGHUP');
      process.kill(runner, 'SIGUSR1');
      await first.says(/ended/);
    },
  );

  it('does not start the command when a signal comes between the grant and the start', async () => {
    await using proxy = await TcpProxy.to(server.port);
    await using locks = createLockClient({ redis: server.url, shutdownTimeout: 0 });
    const held = await locks.acquire(name);
    await using first = new CliProcess(['run', name, '--timeout', '10s', '--', 'sh', '-c', `echo started >> ${file}`], {
      redis: proxy.url,
    });
    while ((await locks.inspect(name)).waiters.length === 0);
    proxy.delay(500);
    await held.release();
    // It confirms the grant, and renews before it starts the command: the reply is on its way.
    let before = Number.POSITIVE_INFINITY;
    for (;;) {
      const [holder] = (await locks.inspect(name)).holders;
      if (holder?.state === 'held' && holder.leaseLeft > before) break;
      before = holder?.state === 'held' ? holder.leaseLeft : before;
    }
    first.send('SIGTERM');
    expect(await first.exited).toBe(143);
    expect(record()).toEqual([]);
    await using _free = await locks.acquire(name, { wait: 0 });
  });

  it('that ends by an error of its own takes the command with it', async () => {
    const options = join(directory, 'options.mjs');
    const crash = join(directory, 'crash');
    writeFileSync(
      options,
      `import { existsSync } from 'node:fs';
       setInterval(() => { if (existsSync('${crash}')) throw new Error('crash'); }, 10);
       export default { redis: '${server.url}' };`,
    );
    await using first = new CliProcess(['run', name, '--config', options, '--', 'sh', '-c', stubborn('child')]);
    const child = Number((await first.says(/^(\d+)\n/))[1]);
    writeFileSync(crash, '');
    expect(await first.exited).toBe(1);
    await gone(child);
  });
});
