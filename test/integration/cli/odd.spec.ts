import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { cli, CliHost, CliProcess } from '../../support/cli-process.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

let server: RedisServer;
let admin: Redis;
let locks: RedisLockClient;
let prefix: string;
let directory: string;
const host = new CliHost();

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  await admin.quit();
  await server.stop();
  await host[Symbol.asyncDispose]();
});
beforeEach(() => {
  prefix = `odd:${randomUUID()}:`;
  directory = mkdtempSync(join(tmpdir(), 'lock-odd-'));
  const log = { log() {}, warn() {}, error() {} };
  locks = createLockClient({ redis: server.url, keyPrefix: prefix, shutdownTimeout: 0, log });
});
afterEach(async () => {
  await locks.close();
  rmSync(directory, { recursive: true, force: true });
});

const look = (...args: string[]) => host.run([...args, '--prefix', prefix], { redis: server.url });
const run = (...args: string[]) => cli(['run', '--prefix', prefix, ...args], { redis: server.url });
const written = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

/** A lock as another program could have written it. */
async function forge(name: string, claim: string): Promise<void> {
  await using _ = await locks.acquire(name);
  const [, ...rest] = (await admin.get(`${prefix}{${name}}`))!.split(' ');
  await admin.set(`${prefix}{${name}:forged}`, [claim, ...rest].join(' '), 'PX', 60_000);
}

describe('what other programs have written', () => {
  it('puts no control character on a terminal: not as host, method or client of a claim', async () => {
    const evil = '\u001b[2J\u0007\u009b';
    await forge('one', `a${evil}b.h${evil}ost.12:0.abc:Me${evil}thod`);
    await forge('two', `${evil}:0.abc`);
    for (const args of [['ls'], ['inspect', 'one:forged'], ['inspect', 'two:forged'], ['ls', '--json']]) {
      const { code, output } = await look(...args);
      expect(code).toBe(0);
      expect(output.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
      expect(output).toMatch(args.includes('two:forged') ? /two:forged/ : /h__2J__ost/);
    }
    const { fencingToken } = (await locks.inspect('one:forged')).holders[0]!;
    const taken = await look('release', 'one:forged', '--token', String(fencingToken), '--reason', 'x', '--yes');
    expect(taken.code).toBe(0);
    expect((taken.output + taken.errors).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('hides no other lock: ls names what it cannot read, and shows the rest', async () => {
    await locks.acquire('good');
    await locks.acquire('best');
    await admin.set(`${prefix}{bad}`, 'no lock');
    const { code, output, errors } = await look('ls');
    expect([code, errors]).toEqual([0, expect.stringMatching(/^nestjs-redis-lock: Lock 'bad'.*not a lock.*\n$/)]);
    expect(output).toMatch(/\nbest .*\ngood .*\n$/);
    expect(await look('ls', '--starts-with', 'bad')).toMatchObject({ code: 78, output: '' });
  });
});

it('a name that begins with -- is given behind --', async () => {
  await locks.acquire('--json');
  const { code, output } = await host.run(['inspect', '--prefix', prefix, '--', '--json'], { redis: server.url });
  expect([code, output]).toEqual([0, expect.stringMatching(/^--json exclusive\n  held by /)]);
  const both = await host.run(['inspect', 'a', '--', 'b'], { redis: server.url });
  expect([both.code, both.errors]).toEqual([64, expect.stringContaining('write nestjs-redis-lock inspect NAME')]);
  expect((await host.run(['ls', '--', 'redis://:secret@h'], { redis: server.url })).errors).toContain(
    'A URL with a password',
  );
});

it.each([
  [['ls', '--url', 'redis://h?password=secret'], /A URL with a password/],
  [['ls', '--url', 'REDIS://:secret@h'], /A URL with a password/],
  [['ls', '--sentinel', 'm', '--url', 'localhost'], /--sentinel: the URL of each sentinel/],
  [['ls', '--sentinel', 'm', '--url', 'redis://%zz@h'], /--sentinel: this URL cannot be read/],
  [['run', 'a', '--grace', '50ms', '--', 'true'], /--grace: '50ms' given.*from 100 ms/],
  [['run', 'a', '--wait', '10', '--', 'true'], /--wait: '10' has no unit\. Write 10s, or 10ms\.$/m],
  [['run', 'a', '--min-hold', '99d', '--', 'true'], /--min-hold: '99d' given.*to 24 days/],
  [['ls', '--older-than', '60'], /--older-than: '60' has no unit/],
  [['release', 'a', '--token', '1', '--reason', ' ', '--yes'], /--reason is missing/],
])('%j is refused with 64 in one line, before Redis is asked', async (args, problem) => {
  const { code, errors } = await host.run(args, { redis: 'redis://127.0.0.1:1' });
  expect([code, errors]).toEqual([64, expect.stringMatching(problem)]);
  expect(errors).not.toContain('secret');
  expect(errors.trim().split('\n')).toHaveLength(1);
});

it('an options file that is not JSON is refused with 64, without a part of it: it may be a password', async () => {
  for (const text of ['secret', '{ "redis": { "password": "secret" }, }']) {
    const { code, errors } = await host.run(['ls', '--config', written('options.json', text)]);
    expect([code, errors]).toEqual([64, expect.stringMatching(/options\.json' cannot be read: it is not JSON/)]);
    expect(errors).not.toContain('secret');
  }
});

it.each([
  ['a file as a directory', () => `${written('file', '')}/program`, 126, /: '.*file\/program': not a directory\.\n$/],
  ['a circle of links', () => circle(), 126, /: too many symbolic links encountered\.\n$/],
  ['a name that is too long', () => join(directory, 'x'.repeat(300)), 126, /: name too long\.\n$/],
  ['a file that is not executable', () => written('file', ''), 126, /: permission denied\.\n$/],
  ['no file', () => join(directory, 'none'), 127, /none': no such file or directory\.\n$/],
  ['no name', () => '', 127, /: '': no such file or directory\.\n$/],
])('run with %s as the command ends as a shell does, and frees the lock', async (_what, command, code, problem) => {
  const ended = await run('a', '--', command());
  expect([ended.code, ended.errors]).toEqual([code, expect.stringMatching(problem)]);
  await using _free = await locks.acquire('a', { wait: 0 });
});
const circle = (): string => {
  symlinkSync(join(directory, 'circle'), join(directory, 'circle'));
  return join(directory, 'circle');
};

it('an error of the library names the options as they are written here', async () => {
  await using _held = await locks.acquire('a');
  for (const wait of ['0', '50ms'])
    expect((await run('a', '--wait', wait, '--', 'true')).errors).toMatch(
      /^nestjs-redis-lock: 'true': Lock 'a' .* \(--wait\)/,
    );
  await using _permit = await locks.acquire('permits', { limit: 2 });
  expect(await run('permits', '--wait', '0', '--', 'true')).toMatchObject({
    code: 75,
    errors: expect.stringContaining('(--limit)'),
  });
  const long = await run('a', '--label', 'x'.repeat(300), '--', 'true');
  expect([long.code, long.errors]).toEqual([64, expect.stringMatching(/^nestjs-redis-lock: --label: 'x+…' given/)]);
  expect((await look('inspect', '')).errors).toMatch(/^nestjs-redis-lock: NAME: the lock name is empty/);
});

it('release takes the lock from the reader with this token, and from no other', async () => {
  const [one, other] = [
    await locks.acquire('report', { shared: true }),
    await locks.acquire('report', { shared: true }),
  ];
  const { code } = await look('release', 'report', '--token', String(other.fencingToken), '--reason', 'x', '--yes');
  expect(code).toBe(0);
  const { holders } = await locks.inspect('report');
  expect(holders.map(({ fencingToken }) => fencingToken)).toEqual([one.fencingToken]);
});

it('release works for a user without a name, as in many containers', async () => {
  const { fencingToken } = await locks.acquire('report');
  const args = ['release', 'report', '--token', String(fencingToken), '--reason', 'x', '--yes', '--prefix', prefix];
  const inTerminal = (command: string) => [
    ...['setpriv', '--reuid', '54321', '--clear-groups', '--', 'sh', '-c', command],
  ];
  const { code, output, errors } = await cli(args, { redis: server.url, inTerminal });
  expect([code, output, errors]).toEqual([
    0,
    expect.stringContaining('By user 54321: x'),
    expect.stringContaining("by 'user 54321'"),
  ]);
});

describe('watch in a terminal', () => {
  /** The last picture on the screen. */
  const screen = ({ output }: CliProcess): string => output.split('\u001b[2J').at(-1)!;
  const watching = (size: string): CliProcess =>
    new CliProcess(['watch', '--every', '100ms', '--prefix', prefix], {
      redis: server.url,
      inTerminal: (command) => ['script', '-qec', `stty ${size}; ${command}`, '/dev/null'],
    });

  it('shows all locks where the terminal has no size', async () => {
    await locks.acquire('b');
    await locks.acquire('a');
    await using screenless = watching('rows 0 cols 0');
    await screenless.says(/every 100 ms[^]*every 100 ms/);
    expect(screenless.output).toMatch(/\r\na +exclusive[^\n]*\r\nb +exclusive/);
  });

  it('keeps the last picture while Redis does not answer, and says so above it', async () => {
    await locks.acquire('report');
    await using proxy = await TcpProxy.to(server.port);
    await using watching = new CliProcess(['watch', '--every', '100ms', '--timeout', '300ms', '--prefix', prefix], {
      redis: proxy.url,
      inTerminal: (command) => ['script', '-qec', `stty rows 20 cols 100; ${command}`, '/dev/null'],
    });
    await watching.says(/report +exclusive/);
    await proxy.close();
    await watching.says(
      /watch tries again\.[^\n]*\r\n[^\n]*As at [\d:]+[^\n]*\r\n[^\n]*NAME[^\n]*\r\nreport +exclusive/,
    );
    await proxy.heal();
    const before = watching.output.length;
    while (!/Ctrl-C ends[^]*report +exclusive/.test(watching.output.slice(before))) await new Promise(setImmediate);
    watching.write('\u0003');
    expect(await watching.exited).toBe(0);
  });

  it('and ls cut long names in the middle, so that a line fits; where there is no terminal they are whole', async () => {
    const name = `tenant:${'x'.repeat(500)}:invoice`;
    for (const each of [name, 'short']) await locks.acquire(each);
    const args = ['ls', '--no-color', '--prefix', prefix];
    const inTerminal = (command: string) => ['script', '-qec', `stty cols 100; ${command}`, '/dev/null'];
    const lines = (await cli(args, { redis: server.url, inTerminal })).output.trim().split('\r\n');
    expect(lines.map(({ length }) => length <= 100)).toEqual([true, true, true]);
    expect(lines[2]).toMatch(/^tenant:x+…x*:invoice  exclusive  /);
    const whole = (await host.run(args, { redis: server.url })).output.split('\n');
    expect(whole[2]).toContain(`${name}  exclusive`);
    expect(whole[1]).toMatch(/^short {57}exclusive/);
  });

  it('fills the height, and leaves long lines to the terminal, which does not wrap them', async () => {
    const name = '中'.repeat(40);
    for (const each of ['a', name, 'z']) await locks.acquire(each);
    await using small = watching('rows 4 cols 30');
    await small.says(/every 100 ms[^]*every 100 ms[^]*\[\?7h/);
    const [picture] = small.output.match(/\[\?7l[^]*?\[\?7h/)!;
    expect(picture.split('\r\n')).toEqual([
      expect.stringContaining('every 100 ms'),
      expect.stringMatching(/NAME/),
      expect.stringMatching(/^a +exclusive/),
    ]);
    small.write('\u0003');
    expect(await small.exited).toBe(0);
    expect(screen(small)).toContain('\u001b[?7h');
  });
});
