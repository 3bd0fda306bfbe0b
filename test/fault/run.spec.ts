import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { CliProcess, cli } from '../support/cli-process.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

let server: RedisServer;
let locks: RedisLockClient;
let directory: string;
let file: string;
let name: string;

beforeAll(async () => {
  server = await startRedis();
  locks = createLockClient({ redis: server.url, log: { log() {}, warn() {}, error() {} } });
});
afterAll(async () => {
  await locks.close();
  await server.stop();
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lock-run-'));
  file = join(directory, 'record');
  writeFileSync(file, '');
  name = `run:${randomUUID()}`;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const run = (args: readonly string[], options: ConstructorParameters<typeof CliProcess>[1] = {}): CliProcess =>
  new CliProcess(['run', name, ...args], { redis: server.url, ...options });

/** Writes its word to the record again and again, for as long as there is one. */
const working = (word: string): string => `while test -e ${file}; do echo ${word} >> ${file}; sleep 0.02; done`;
const record = (): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);

/** Looks at the record until it is so. */
async function recorded(isSo: (lines: string[]) => boolean): Promise<void> {
  while (!isSo(record())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const exists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The processes that wait. */
const waiting = async (count: number): Promise<void> => {
  while ((await locks.inspect(name)).waiters.length !== count);
};

const short = ['--lease', '4s', '--grace', '1900ms'];

describe('run, when the lock cannot be kept', () => {
  it('has ended a command that ignores SIGTERM, and its children, before the next holder starts', async () => {
    await using proxy = await TcpProxy.to(server.port);
    const stubborn = `trap "" TERM; (trap "" TERM; ${working('grandchild')}) & ${working('child')}`;
    await using first = run([...short, '--', 'sh', '-c', stubborn], { redis: proxy.url });
    await recorded((lines) => lines.includes('child') && lines.includes('grandchild'));
    await using second = run(['--', 'sh', '-c', `echo next >> ${file}`]);
    await waiting(1);
    await proxy.close();
    expect(await first.exited).toBe(76);
    expect(await second.exited).toBe(0);
    expect(record().filter((line) => line === 'next')).toHaveLength(1);
    expect(record().at(-1)).toBe('next');
    expect(first.errors).toMatch(/cannot be kept: the command gets SIGTERM now, and SIGKILL in \d+ ms/);
    expect(first.errors).toContain('gets SIGKILL.');
  });

  it('lets a command that obeys SIGTERM end by itself', async () => {
    await using proxy = await TcpProxy.to(server.port);
    const polite = `trap 'echo farewell >> ${file}; exit 3' TERM; echo here >> ${file}; while test -e ${file}; do sleep 0.02; done`;
    await using first = run([...short, '--', 'sh', '-c', polite], { redis: proxy.url });
    await recorded((lines) => lines.includes('here'));
    await proxy.close();
    expect(await first.exited).toBe(76);
    expect(record()).toEqual(['here', 'farewell']);
    expect(first.errors).not.toContain('gets SIGKILL.');
  });

  it('keeps the lock and the command through a short outage of Redis', async () => {
    await using proxy = await TcpProxy.to(server.port);
    const until = join(directory, 'until');
    const patient = `echo here >> ${file}; while test -e ${file} && ! test -e ${until}; do sleep 0.02; done`;
    await using first = run(['--lease', '9s', '--grace', '1s', '--', 'sh', '-c', patient], { redis: proxy.url });
    await recorded((lines) => lines.includes('here'));
    const left = async (): Promise<number> => (await locks.inspect(name)).holders[0]!.leaseLeft;
    await proxy.close();
    // A renewal is missing.
    while ((await left()) > 5_500);
    await proxy.heal();
    while ((await left()) < 6_500);
    writeFileSync(until, '');
    expect(await first.exited).toBe(0);
    expect(first.errors).not.toContain('SIGTERM');
  });

  it('ends the command when an operator takes the lock, and the next holder gets it', async () => {
    const polite = `trap 'echo farewell >> ${file}; exit 0' TERM; echo here >> ${file}; while test -e ${file}; do sleep 0.02; done`;
    await using first = run(['--lease', '3s', '--grace', '1s', '--', 'sh', '-c', polite]);
    await recorded((lines) => lines.includes('here'));
    await using second = run(['--', 'sh', '-c', `echo next >> ${file}`]);
    await waiting(1);
    expect(await locks.forceRelease(name)).toBe(true);
    expect(await first.exited).toBe(76);
    expect(await second.exited).toBe(0);
    expect(record().sort()).toEqual(['farewell', 'here', 'next']);
    expect(first.errors).toContain('was lost: the command gets SIGTERM');
  });

  it('ends the command at --max-hold although Redis answers', async () => {
    await using first = run([
      ...['--lease', '3s', '--grace', '1s', '--max-hold', '1100ms'],
      ...['--', 'sh', '-c', `trap "" TERM; ${working('child')}`],
    ]);
    await recorded((lines) => lines.includes('child'));
    await using second = run(['--', 'sh', '-c', `echo next >> ${file}`]);
    expect(await first.exited).toBe(76);
    expect(await second.exited).toBe(0);
    expect(record().at(-1)).toBe('next');
  });

  it('that was stopped for longer than its lease kills the command as soon as it runs again', async () => {
    await using first = run([
      '--lease',
      '1s',
      '--grace',
      '400ms',
      '--',
      'sh',
      '-c',
      `echo $$; trap "" TERM; ${working('child')}`,
    ]);
    const child = Number((await first.says(/^(\d+)\n/))[1]);
    first.send('SIGSTOP');
    await using second = run(['--', 'sh', '-c', `echo next >> ${file}`]);
    expect(await second.exited).toBe(0);
    // Nothing could end it: that is what the fencing token is for.
    expect(exists(child)).toBe(true);
    first.send('SIGCONT');
    expect(await first.exited).toBe(76);
    expect(exists(child)).toBe(false);
    expect(first.errors).not.toContain('SIGTERM');
  });

  it('that is killed leaves its command running, unless the kernel ends it with its parent (setpriv)', async () => {
    const say = `echo $$; ${working('child')}`;
    await using alone = run(['--lease', '1s', '--grace', '400ms', '--', 'sh', '-c', say]);
    const left = Number((await alone.says(/^(\d+)\n/))[1]);
    alone.send('SIGKILL');
    expect(await alone.exited).toBe('SIGKILL');
    await using tied = run(['--', 'setpriv', '--pdeathsig', 'KILL', '--', 'sh', '-c', say]);
    const child = Number((await tied.says(/^(\d+)\n/))[1]);
    expect(exists(left)).toBe(true);
    process.kill(-left, 'SIGKILL');
    tied.send('SIGKILL');
    while (exists(child)) await new Promise(setImmediate);
  });
});

describe('run, when it gets a signal', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('%s while it waits, ends at once, leaves the queue, and starts nothing', async (signal, code) => {
    await using lock = await locks.acquire(name);
    await using waiter = run(['--', 'sh', '-c', `echo started >> ${file}`]);
    await waiting(1);
    waiter.send(signal);
    expect(await waiter.exited).toBe(code);
    await waiting(0);
    expect(lock.isHeld).toBe(true);
    expect(record()).toEqual([]);
  });

  it('while the command runs, passes it to the whole group, and ends with what the command makes of it', async () => {
    const group = `trap 'echo child >> ${file}; wait; exit 5' TERM
      (trap 'echo grandchild >> ${file}; exit 0' TERM; echo ready >> ${file}; while test -e ${file}; do sleep 0.02; done) &
      while test -e ${file}; do sleep 0.02; done`;
    await using first = run(['--', 'sh', '-c', group]);
    await recorded((lines) => lines.includes('ready'));
    first.send('SIGTERM');
    expect(await first.exited).toBe(5);
    expect(record().sort()).toEqual(['child', 'grandchild', 'ready']);
    await using _free = await locks.acquire(name, { wait: 0 });
  });
});

describe('run', () => {
  it('ends what the command leaves behind in its group before it releases the lock', async () => {
    const until = join(directory, 'until');
    const wait = `while test -e ${file} && ! test -e ${until}; do sleep 0.02; done`;
    await using first = run(['--', 'sh', '-c', `(${working('left')}) & ${wait}; exit 4`]);
    await recorded((lines) => lines.includes('left'));
    await using second = run(['--', 'sh', '-c', `echo next >> ${file}`]);
    await waiting(1);
    writeFileSync(until, '');
    expect(await first.exited).toBe(4);
    expect(await second.exited).toBe(0);
    expect(record().at(-1)).toBe('next');
    expect(first.errors).toContain('left processes behind');
  });

  it('gives the command its name and tokens, and no ticket; and returns its exit code', async () => {
    const show = 'echo "$LOCK_NAME|$LOCK_FENCING_TOKEN|$LOCK_FENCING_TOKENS|$LOCK_TICKET"; exit 7';
    const one = await cli(['run', name, '--', 'sh', '-c', show], { redis: server.url });
    const [, token, tokens] = one.output.trim().split('|');
    expect(one.code).toBe(7);
    expect(one.output).toBe(`${name}|${token}|${JSON.stringify({ [name]: Number(token) })}|\n`);
    expect(JSON.parse(tokens!)).toEqual({ [name]: Number(token) });
    const two = await cli(['run', `${name}:b`, `${name}:a`, '--', 'sh', '-c', 'echo "$LOCK_NAME"'], {
      redis: server.url,
    });
    expect(two.output).toBe(`${name}:a\n${name}:b\n`);
    const later = await cli(['run', name, '--', 'sh', '-c', 'echo $LOCK_FENCING_TOKEN'], { redis: server.url });
    expect(Number(later.output)).toBeGreaterThan(Number(token));
  });

  it('ends with 128 and the signal that ended the command, 127 without a program, and 126 when it cannot be executed', async () => {
    const codeOf = async (...command: string[]) =>
      (await cli(['run', name, '--', ...command], { redis: server.url })).code;
    expect(await codeOf('sh', '-c', 'kill -KILL $$')).toBe(137);
    expect(await codeOf(join(directory, 'none'))).toBe(127);
    expect(await codeOf(file)).toBe(126);
    await using _free = await locks.acquire(name, { wait: 0 });
  });

  it('does not start the command when the lock is contended (75) or Redis is away (69)', async () => {
    await using _held = await locks.acquire(name);
    const command = ['--', 'sh', '-c', `echo started >> ${file}`];
    for (const wait of ['0', '100ms']) {
      const { code, errors } = await cli(['run', name, '--wait', wait, ...command], { redis: server.url });
      expect([code, errors]).toEqual([75, expect.stringContaining(`Lock '${name}' `)]);
    }
    expect(await cli(['run', name, ...command], { redis: 'redis://127.0.0.1:1' })).toMatchObject({
      code: 69,
      errors: expect.stringContaining('127.0.0.1:1'),
    });
    expect(record()).toEqual([]);
  });

  it('shares a lock, takes a permit, and keeps it for --min-hold, with a label that others see', async () => {
    const until = join(directory, 'until');
    const hold = ['--', 'sh', '-c', `echo held; while test -e ${file} && ! test -e ${until}; do sleep 0.02; done`];
    const runs = [
      ...[1, 2].map(() => run(['--shared', '--label', 'reader', ...hold])),
      ...[1, 2].map(() => new CliProcess(['run', `${name}:permits`, '--limit', '2', ...hold], { redis: server.url })),
    ];
    for (const each of runs) await each.says(/held/);
    expect((await locks.inspect(name)).holders.map(({ label }) => label)).toEqual(['reader', 'reader']);
    const { limit, holders } = await locks.inspect(String(`${name}:permits`));
    expect([limit, holders.map(({ label }) => label)]).toEqual([2, ['sh', 'sh']]);
    writeFileSync(until, '');
    for (const each of runs) expect(await each.exited).toBe(0);
    await cli(['run', name, '--min-hold', '1m', '--', 'true'], { redis: server.url });
    expect((await locks.inspect(name)).holders[0]!.state).toBe('kept');
  });

  it('continues an exported lock by its ticket, from the environment or a file, with the same token', async () => {
    for (const how of ['environment', 'file']) {
      const lock = await locks.acquire(name);
      const ticket = await lock.export();
      writeFileSync(join(directory, 'ticket'), `${ticket}\n`);
      const [option, env] =
        how === 'file' ? [['--ticket-file', join(directory, 'ticket')], {}] : [['--ticket'], { LOCK_TICKET: ticket }];
      const command = ['run', ...option, '--', 'sh', '-c', 'echo "$LOCK_NAME $LOCK_FENCING_TOKEN $LOCK_TICKET"'];
      const first = await cli(command, { redis: server.url, env });
      expect(first).toMatchObject({ code: 0, output: `${name} ${lock.fencingToken} \n` });
      expect(await cli(command, { redis: server.url, env })).toMatchObject({ code: 76 });
    }
  });

  it('lets the command read the terminal, passes Ctrl-C of the terminal to it, and does not stop by Ctrl-Z', async () => {
    const ask = `trap 'echo interrupted; exit 9' INT; echo ready; read answer; echo "got $answer"; while test -e ${file}; do sleep 0.02; done`;
    // The job of an interactive shell: where no shell could take it up again, Ctrl-Z stops no program.
    const job = join(directory, 'job');
    const inTerminal = (command: string): string[] => {
      writeFileSync(job, `set -m\n${command.replace('exec ', '')}\nexit $?\n`);
      return ['script', '-qec', `bash ${job}`, '/dev/null'];
    };
    await using first = new CliProcess(['run', name, '--', 'sh', '-c', ask], { redis: server.url, inTerminal });
    await first.says(/ready/);
    first.write('hello\n');
    await first.says(/got hello/);
    // A runner that stands still would pass nothing on.
    first.write('\u001a');
    first.write('\u0003');
    expect(await first.exited).toBe(9);
  });

  it.each([
    [['--lease', '10s'], /must be longer than twice --grace \(5000 ms\)/],
    [['--lease', '2s', '--grace', '1s'], /must be longer than twice/],
    [['--max-hold', '5s'], /--max-hold \(5000 ms\) must be longer/],
    [['--wait', 'soon'], /--wait: 'soon' given, a duration/],
    [['--limit', '0'], /--limit: '0' given, a whole number/],
    [['--limit', '2', '--shared'], /--shared cannot be combined with --limit/],
    [['--ticket'], /cannot be combined with a ticket/],
    [['lock-ticket:1:abc'], /A ticket is in the arguments/],
    [['--gracie', '1s'], /Unknown option '--gracie'.*--help/],
  ])('refuses %j with 64, and says what to do', async (options, problem) => {
    const { code, errors } = await cli(['run', name, ...options, '--', 'sh', '-c', `echo started >> ${file}`], {
      redis: server.url,
    });
    expect([code, errors]).toEqual([64, expect.stringMatching(problem)]);
    expect(errors.trim().split('\n')).toHaveLength(1);
    expect(record()).toEqual([]);
  });
});
