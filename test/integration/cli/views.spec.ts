import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type Lock, type LockOptions, type RedisLockClient } from 'nestjs-redis-lock/client';
import { ClusterGroup } from '../../support/cluster-group.js';
import { cli, CliHost, CliProcess, program } from '../../support/cli-process.js';
import { readerRules } from '../../support/documented-acl.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { SentinelGroup } from '../../support/sentinel-group.js';

let server: RedisServer;
let prefix: string;
let directory: string;
const open: RedisLockClient[] = [];
const host = new CliHost();

beforeAll(async () => {
  server = await startRedis({ args: ['--appendonly', 'yes'] });
});
afterAll(() => Promise.all([server.stop(), host[Symbol.asyncDispose]()]));
beforeEach(() => {
  prefix = `cli:${randomUUID()}:`;
  directory = mkdtempSync(join(tmpdir(), 'lock-cli-'));
});
afterEach(async () => {
  for (const locks of open.splice(0)) await locks.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A process of the fleet. */
const member = (): RedisLockClient => {
  const log = { log() {}, warn() {}, error() {} };
  const locks = createLockClient({ redis: server.url, keyPrefix: prefix, shutdownTimeout: 0, log });
  open.push(locks);
  return locks;
};

/** Starts to wait, and stands in the queue when this resolves. */
async function queue(
  locks: RedisLockClient,
  name: string,
  options: LockOptions = {},
): Promise<{ lock: Promise<Lock> }> {
  const before = (await locks.inspect(name)).waiters.length;
  // Longer than any number of programs takes on a busy machine.
  const lock = locks.acquire(name, { wait: Infinity, ...options });
  lock.catch(() => undefined);
  while ((await locks.inspect(name)).waiters.length === before);
  return { lock };
}

const look = (...args: string[]) => host.run([...args, '--prefix', prefix], { redis: server.url });
const rows = (text: string): unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

/** What `tree` prints once a process has told that it waits for this name. */
async function told(name: string): Promise<string> {
  for (;;) {
    const { output } = await look('tree');
    if (output.includes(name)) return output;
  }
}

describe('ls, inspect and tree', () => {
  it('show holders and waiters with their labels, as a table and as JSON', async () => {
    const [a, b] = [member(), member()];
    await a.acquire('report:daily', { label: 'import 7' });
    await queue(b, 'report:daily', { label: 'second' });
    await a.acquire('report:weekly', { shared: true });
    await b.acquire('gate', { limit: 3, permits: 2 });

    const table = await look('ls');
    expect(table).toMatchObject({ code: 0, errors: '' });
    expect(table.output).toMatch(/^NAME +KIND +HOLDER +HELD +LEASE LEFT +WAITING\n/);
    expect(table.output).toMatch(/\nreport:daily +exclusive +'import 7' \(.+:\d+\) +[\d.]+s +[\d.]+s +1\n/);
    expect(table.output).toMatch(/\ngate +permits \(3\) /);
    expect(rows((await look('ls', '--json', '--starts-with', 'report:', '--contended')).output)).toEqual([
      expect.objectContaining({ key: 'report:daily', kind: 'exclusive' }),
    ]);
    expect((await look('ls', '--older-than', '1h')).output.split('\n')).toHaveLength(2);

    const one = await look('inspect', 'report:daily');
    const [holder] = (await a.inspect('report:daily')).holders;
    expect(one.output).toContain(`token ${holder!.fencingToken}`);
    expect(one.output).toMatch(/1\. waits: 'second'/);
    expect((await look('inspect', 'nothing')).output).toBe('nothing is free.\n');
    expect(JSON.parse((await look('inspect', 'report:daily', '--json')).output)).toMatchObject({
      holders: [{ label: 'import 7', fencingToken: holder!.fencingToken }],
      waiters: [{ label: 'second' }],
    });
  });

  it('say when there are more names than the limit', async () => {
    const a = member();
    await Promise.all(['1', '2', '3'].map((name) => a.acquire(name)));
    const { output, errors } = await look('ls', '--limit', '2');
    expect(output.trim().split('\n')).toHaveLength(3);
    expect(errors).toMatch(/only the first 2 names.*--limit/);
    expect((await look('ls', '--limit', '3')).errors).toBe('');
  });

  it('print no control character of a name or a label, as text or as JSON', async () => {
    const evil = 'a\u001b[2J\u009b2J\u202e\u0007\n\u2028\u{e0001}b';
    const [a, b] = [member(), member()];
    await a.acquire(evil, { label: evil });
    await queue(b, evil, { label: evil });
    await told('202e');
    for (const args of [
      ['ls'],
      ['inspect', evil],
      ['tree'],
      ['ls', '--json'],
      ['inspect', evil, '--json'],
      ['tree', '--json'],
    ]) {
      const { code, output } = await look(...args);
      expect(code).toBe(0);
      expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      if (args.includes('--json')) expect(JSON.stringify(rows(output))).toContain(JSON.stringify(evil).slice(1, -1));
    }
  });

  it('tree shows who waits for whom, as text and as JSON', async () => {
    const [a, b] = [member(), member()];
    await a.acquire('one');
    await a.acquire('free');
    const { lock } = await queue(b, 'one', { label: 'second' });
    expect(await told('one')).toMatch(
      /^.+:\d+\n  holds one for [\d.]+s, token \d+\n    'second' \(.+\) waits for [\d.]+s\n$/,
    );
    expect(JSON.parse((await look('tree', '--json')).output)).toMatchObject({
      roots: [{ key: 'one', holder: { pid: process.pid }, waiters: [{ label: 'second', callers: 1 }] }],
      deadlocks: 0,
    });
    await a.forceRelease('one');
    await lock;
  });
});

describe('watch', () => {
  it('prints a line of JSON for each change until Ctrl-C, and then ends with 0', async () => {
    const [a, b] = [member(), member()];
    const lock = await a.acquire('report', { label: 'first' });
    await using watching = new CliProcess(['watch', 'report', '--json', '--every', '100ms', '--prefix', prefix], {
      redis: server.url,
    });
    await watching.says(/"label":"first"/);
    const { lock: next } = await queue(b, 'report', { label: 'second' });
    await watching.says(/"waiters":\[\{[^\n]*"label":"second"/);
    await lock.release();
    await watching.says(/"holders":\[\{[^\n]*"label":"second"/);
    await (await next).release();
    await watching.says(/"holders":\[\],"waiters":\[\]/);
    watching.send('SIGINT');
    expect(await watching.exited).toBe(0);
    expect(watching.errors).toBe('');
    for (const row of rows(watching.output)) expect(row).toMatchObject({ key: 'report', at: expect.any(String) });
  });

  it('says once that Redis does not answer, and goes on when it does', async () => {
    const a = member();
    const lock = await a.acquire('report');
    await using proxy = await TcpProxy.to(server.port);
    const args = ['--every', '100ms', '--timeout', '300ms', '--prefix', prefix];
    await using watching = new CliProcess(['watch', 'report', '--json', ...args], { redis: proxy.url });
    await watching.says(/"state":"held"/);
    await proxy.close();
    while (!watching.errors.includes('watch tries again.')) await new Promise(setImmediate);
    await proxy.heal();
    await lock.release();
    await watching.says(/"holders":\[\]/);
    watching.send('SIGINT');
    expect(await watching.exited).toBe(0);
    expect(watching.errors).toMatch(/^nestjs-redis-lock: [^\n]* watch tries again\.\n/);
    expect(watching.errors).toMatch(/nestjs-redis-lock: Redis answers again\.\n$/);
  });

  it('ends at a name that is no lock as it begins, and goes on past one that was written in the meantime', async () => {
    const key = `${prefix}{report}`;
    const admin = new Redis(server.url);
    try {
      await admin.set(key, 'foreign');
      const args = ['watch', 'report', '--json', '--every', '100ms', '--prefix', prefix];
      expect((await cli(args, { redis: server.url })).code).toBe(78);
      await admin.del(key);
      await using watching = new CliProcess(args, { redis: server.url });
      await watching.says(/"holders":\[\]/);
      await admin.set(key, 'foreign');
      while (!watching.errors.includes('watch tries again.')) await new Promise(setImmediate);
      await admin.del(key);
      await member().acquire('report', { label: 'again' });
      await watching.says(/"label":"again"/);
      watching.send('SIGINT');
      expect(await watching.exited).toBe(0);
    } finally {
      await admin.quit();
    }
  });

  it('calls no lock free because it is not among the first names, and says that there are more', async () => {
    const a = member();
    await a.acquire('kept');
    const lock = await a.acquire('released');
    const args = ['watch', '--json', '--every', '100ms', '--limit', '2', '--prefix', prefix];
    await using watching = new CliProcess(args, { redis: server.url });
    await watching.says(/"key":"released"/);
    for (let index = 0; index < 200; index++) await a.acquire(String(`other:${index}`));
    await lock.release();
    // One of the others takes its place.
    await watching.says(/"key":"released"[^\n]*"holders":\[\][^]*"key":"other/);
    watching.send('SIGINT');
    await watching.exited;
    const seen = rows(watching.output) as Array<{ key: string; holders: unknown[] }>;
    expect(seen.filter(({ holders }) => holders.length === 0)).toMatchObject([{ key: 'released' }]);
    expect(seen.filter(({ key }) => key === 'kept')).toHaveLength(1);
    expect(watching.errors).toBe(
      'nestjs-redis-lock: only the first 2 names are looked at: add --limit or --starts-with.\n',
    );
  });

  it('--contended says of a lock for which no process waits any more who holds it, and does not follow it on', async () => {
    const [a, b] = [member(), member()];
    const lock = await a.acquire('report', { label: 'first' });
    const giveUp = new AbortController();
    await queue(b, 'report', { signal: giveUp.signal });
    const args = ['watch', '--contended', '--every', '100ms', '--prefix', prefix];
    await using watching = new CliProcess(args, { redis: server.url });
    await watching.says(/ report is held by 'first' .*; 1 waiting\n/);
    giveUp.abort();
    await watching.says(/ report is held by 'first' .*; 0 waiting\n/);
    await lock.release();
    const next = await a.acquire('other');
    await queue(b, 'other');
    await watching.says(/ other is held by .*; 1 waiting\n/);
    await next.release();
    expect(watching.output).not.toContain('report is free');
  });

  it('of all locks prints those that change, and ends quietly when its reader goes away', async () => {
    const a = member();
    await a.acquire('b');
    await using watching = new CliProcess(['watch', '--every', '100ms', '--prefix', prefix], { redis: server.url });
    await watching.says(/ b is held by/);
    watching.stopReading();
    await a.acquire('c');
    expect(await watching.exited).toBe(0);
    expect(watching.errors).toBe('');
  });
});

describe('release', () => {
  it('takes the lock from the holder with this token, and says who did it and why', async () => {
    const [a, b] = [member(), member()];
    const lock = await a.acquire('report', { label: 'import 7' });
    const next = b.acquire('report');
    const args = [
      'release',
      'report',
      '--token',
      String(lock.fencingToken),
      '--reason',
      'hangs',
      '--actor',
      'anna',
      '--yes',
    ];
    const { code, output, errors } = await cli([...args, '--prefix', prefix], { redis: server.url });
    expect(code).toBe(0);
    expect(output).toMatch(/^Released 'report', which 'import 7' \(.*\) held with token \d+\. By anna: hangs\n$/);
    expect(errors).toMatch(/was released by force, by 'anna' \(.*Reason: 'hangs'/);
    expect((await next).isHeld).toBe(true);
    const again = await look(...args);
    expect([again.code, again.errors]).toEqual([3, expect.stringMatching(/Nothing was released.*inspect/)]);
    expect((await b.inspect('report')).holders).toHaveLength(1);
  });

  it('asks in a terminal, and takes nothing without a yes', async () => {
    const a = member();
    const { fencingToken } = await a.acquire('report');
    const inTerminal = (command: string): string[] => ['script', '-qec', command, '/dev/null'];
    const ask = () =>
      new CliProcess(['release', 'report', '--token', String(fencingToken), '--reason', 'hangs', '--prefix', prefix], {
        redis: server.url,
        inTerminal,
      });
    for (const [answer, code] of [
      ['n\n', 3],
      ['\u0003', 3],
      ['\n', 3],
      ['y\n', 0],
    ] as const) {
      await using asking = ask();
      await asking.says(/Take 'report' from .* \[y\/N\]/);
      expect((await a.inspect('report')).holders).toHaveLength(1);
      asking.write(answer);
      expect(await asking.exited).toBe(code);
    }
    expect((await a.inspect('report')).holders).toEqual([]);
  });

  it.each([
    [['report', '--reason', 'x', '--yes'], /--token is missing.*inspect NAME/],
    [['report', '--token', '1', '--yes'], /--reason is missing/],
    [['report', '--token', '1', '--reason', 'x'], /no terminal to ask.*--yes/],
    [['report', '--token', 'x', '--reason', 'x', '--yes'], /--token: 'x' given/],
    [['--token', '1', '--reason', 'x', '--yes'], /write nestjs-redis-lock release NAME/],
  ])('%j is refused with 64', async (args, problem) => {
    const { code, errors } = await look('release', ...args);
    expect([code, errors]).toEqual([64, expect.stringMatching(problem)]);
  });
});

describe('doctor', () => {
  it('ends with 0 when it finds nothing, and with 1 and the findings otherwise', async () => {
    expect(await look('doctor')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/answers after [\d.]+ ms; nothing found/),
    });
    await using evicting = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
    const found = await cli(['doctor'], { redis: evicting.url });
    expect(found).toMatchObject({
      code: 1,
      output: expect.stringMatching(/finding.*LOCK_DOCTOR_EVICTION.*\nremark.*LOCK_DOCTOR_PERSISTENCE/s),
    });
    const json = JSON.parse((await host.run(['doctor', '--json'], { redis: evicting.url })).output) as object;
    expect(json).toMatchObject({
      findings: [{ code: 'LOCK_DOCTOR_EVICTION' }, { code: 'LOCK_DOCTOR_PERSISTENCE' }],
      roundTrip: expect.any(Number),
    });
  });

  it('counts a remark as a finding with --strict', async () => {
    await using forgetful = await startRedis();
    expect((await host.run(['doctor'], { redis: forgetful.url })).code).toBe(0);
    expect((await host.run(['doctor', '--strict'], { redis: forgetful.url })).code).toBe(1);
  });
});

describe('the read-only ACL of docs/reference/cli.md', () => {
  it('is enough for ls, inspect, watch and tree, without a word in the log of Redis, and for nothing that writes', async () => {
    await using own = await startRedis();
    const admin = new Redis(own.url);
    const locks = createLockClient({ redis: own.url, shutdownTimeout: 0 });
    try {
      await admin.acl('SETUSER', 'watcher', 'on', '>secret', 'resetkeys', 'resetchannels', ...readerRules());
      await locks.acquire('a');
      await locks.acquire('b', { shared: true });
      const waiting = locks.acquire('a', { fairness: 'strict' });
      waiting.catch(() => undefined);
      while ((await locks.inspect('a')).waiters.length === 0);
      const redis = own.url.replace('://', '://watcher:secret@');
      await admin.acl('LOG', 'RESET');
      for (const args of [['ls'], ['inspect', 'a'], ['inspect', 'b'], ['tree']]) {
        const { code, output, errors } = await cli(args, { redis });
        expect([code, errors]).toEqual([0, '']);
        expect(output).not.toBe('');
      }
      await using watching = new CliProcess(['watch', '--json'], { redis });
      await watching.says(/"key":"a"/);
      expect(await admin.acl('LOG')).toEqual([]);
      const { fencingToken } = (await locks.inspect('a')).holders[0]!;
      const writing = [
        ['release', 'a', '--token', String(fencingToken), '--reason', 'x', '--yes'],
        ['doctor'],
        ['run', 'c', '--', 'true'],
      ];
      for (const args of writing) {
        expect(await cli(args, { redis })).toMatchObject({
          code: 78,
          errors: expect.stringContaining('the-smallest-acl'),
        });
      }
      expect((await locks.inspect('a')).holders).toHaveLength(1);
    } finally {
      await locks.close();
      await admin.quit();
    }
  });
});

describe('where Redis is', () => {
  it('is said by a URL, a file of URLs, an options file in JSON or JavaScript, and a prefix', async () => {
    await member().acquire('here');
    const file = (name: string, text: string): string => {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    };
    const options = JSON.stringify({ redis: { port: server.port }, keyPrefix: prefix });
    for (const args of [
      ['--url', server.url, '--prefix', prefix],
      ['--url-file', file('urls', `# the locks\n${server.url}\n`), '--prefix', prefix],
      ['--config', file('options.json', options)],
      ['--config', file('options.mjs', `export default ${options}`)],
      ['--config', file('options.cjs', `module.exports = ${options}`)],
    ]) {
      expect(await host.run(['ls', ...args], { redis: 'redis://127.0.0.1:1' })).toMatchObject({
        code: 0,
        output: expect.stringContaining('here'),
      });
    }
  });

  it('can be a quorum, a cluster, or a Sentinel group', async () => {
    const nodes = await Promise.all([1, 2, 3].map(() => startRedis()));
    const cluster = await ClusterGroup.start();
    const sentinel = await SentinelGroup.start();
    try {
      const places = [
        [['--quorum'], nodes.map(({ url }) => url).join(',')],
        [['--cluster'], cluster.masters.map(({ url }) => url).join(' ')],
        [
          ['--sentinel', sentinel.connection.name!],
          sentinel.connection.sentinels!.map(({ host, port }) => `redis://${host}:${port}`).join(','),
        ],
      ] as const;
      for (const [args, redis] of places) {
        const inside = await cli(['run', ...args, 'a', '--', process.execPath, program, 'ls', ...args], { redis });
        expect(inside).toMatchObject({ code: 0, output: expect.stringMatching(/\na +exclusive/) });
      }
    } finally {
      await Promise.all([cluster.stop(), sentinel.stop(), ...nodes.map((node) => node.stop())]);
    }
  });

  it.each([
    [['ls', '--url', 'redis://:secret@h'], 64, /A URL with a password is in the arguments.*REDIS_URL.*--url-file/],
    [['ls', '--url=rediss://u:secret@h'], 64, /A URL with a password/],
    [['ls', 'redis://u:secret@h'], 64, /A URL with a password/],
    [
      ['ls', '--url', 'redis://127.0.0.1:1', '--url', 'redis://127.0.0.1:2'],
      64,
      /2 URLs given for one server.*--quorum/,
    ],
    [['ls', '--quorum', '--cluster'], 64, /--cluster cannot be combined with --quorum/],
    [['ls', '--quorum', '--url', 'redis://127.0.0.1:1'], 64, /3, 5 or 7/],
    [['ls', '--url-file', '/none'], 64, /--url-file: '\/none' cannot be read: ENOENT/],
    [['ls', '--url', 'localhost'], 64, /: --url: no URL of a Redis server\. Write redis:/],
    [['ls', '--url', 'redis://h:99999'], 64, /: --url: this URL cannot be read/],
    [['ls', '--prefix', ''], 64, /: --prefix: '' given/],
    [['run', 'a', '--limit', '2', '--shared', '--', 'true'], 64, /--shared cannot be combined with --limit/],
    [['ls', '--url', 'redis://127.0.0.1:1'], 69, /127\.0\.0\.1:1/],
    [['inspect'], 64, /write nestjs-redis-lock inspect NAME/],
    [['lss'], 64, /There is no command 'lss'\. Commands: ls, inspect/],
    [[], 64, /No command given/],
    [['ls', '--jsn'], 64, /Unknown option '--jsn'.*ls --help/],
  ])('%j ends with %d in one line that says what to do, and without the password', async (args, code, problem) => {
    const ended = await host.run(args, { redis: 'redis://127.0.0.1:1' });
    expect([ended.code, ended.errors]).toEqual([code, expect.stringMatching(problem)]);
    expect(ended.errors).not.toContain('secret');
    expect(ended.errors.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    ['REDIS_URL', [], ''],
    ['REDIS_URL', ['--cluster'], ' \n'],
    ['--url-file', ['--url-file', '/dev/null'], 'redis://127.0.0.1:1'],
  ])('%s without a URL is refused (64), and no other server is asked: %j', async (place, args, redis) => {
    const { code, errors } = await host.run(['ls', ...args], { redis });
    expect([code, errors]).toEqual([64, expect.stringContaining(`${place}: no URL of a Redis server.`)]);
  });

  it('says so when Redis refuses the password (78)', async () => {
    await using own = await startRedis({ args: ['--requirepass', 'right'] });
    const { code, errors } = await host.run(['ls'], { redis: `redis://:wrong@127.0.0.1:${own.port}` });
    expect([code, errors]).toEqual([78, expect.stringMatching(/password/i)]);
    expect(errors).not.toContain('wrong@');
  });
});

it('--help says how each command is used, and colours are only for terminals that want them', async () => {
  const { output, code } = await cli(['--help']);
  expect(code).toBe(0);
  for (const command of ['ls', 'inspect', 'watch', 'tree', 'release', 'doctor', 'run']) {
    expect(output).toContain(`\n  ${command} `);
    expect(await host.run([command, '--help'])).toMatchObject({
      code: 0,
      output: expect.stringContaining(`nestjs-redis-lock ${command}`),
    });
  }
  const inTerminal = (command: string): string[] => ['script', '-qec', command, '/dev/null'];
  const shown = async (args: string[], env: Record<string, string> = {}) =>
    (await cli(['ls', '--prefix', prefix, ...args], { redis: server.url, env, inTerminal })).output;
  expect(await shown([])).toContain('\u001b[2m');
  expect(await shown(['--no-color'])).not.toContain('\u001b');
  expect(await shown([], { NO_COLOR: '1' })).not.toContain('\u001b');
  expect((await look('ls')).output).not.toContain('\u001b');
});
