import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLockClient } from 'nestjs-redis-lock/client';
import { cli } from '../../support/cli-process.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';

const word = 'Zq-word-qZ';
const url = `redis://:${word}@127.0.0.1:1`;
let directory: string;
let server: RedisServer;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lock-secrets-'));
  server = await startRedis();
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await server.stop();
});

const file = (name: string, text: string): string => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};

describe('the command line prints no password', () => {
  it.each<[what: string, args: () => string[], code: number]>([
    ['a file of options that holds a URL', () => ['ls', '--config', file('a.json', JSON.stringify(url))], 64],
    ['a module of options that exports one', () => ['ls', '--config', file('b.mjs', `export default '${url}'`)], 64],
    [
      'a module that cannot be read',
      () => ['ls', '--config', file('c.mjs', `export default { redis: 'a'${word}'b' }`)],
      64,
    ],
    ['a module that throws', () => ['ls', '--config', file('d.mjs', `throw new Error('${url}')`)], 64],
    [
      'a text of servers in place of a list',
      () => ['ls', '--config', file('e.json', JSON.stringify({ quorum: { nodes: url } }))],
      64,
    ],
    ['options in place of a file', () => ['ls', '--config', `{ "password": "${word}" }`], 64],
    ['a file of a URL that cannot be read', () => ['ls', '--url-file', file('u', `${url}#${word}`)], 64],
    ['a command in one word', () => ['run', 'a', '--', `no-such-redis-cli -a ${word}`], 127],
    ['a variable in front of a command', () => ['run', 'a', '--', `PGWORD=${word}`, 'psql'], 127],
    ['a server that does not run', () => ['ls', '--url-file', file('v', url)], 69],
  ])('%s', async (_what, args, code) => {
    const given = args();
    const ended = await cli(given, given[0] === 'run' ? { redis: server.url } : {});
    expect([ended.code, ended.errors.includes('Zq'), ended.output.includes('Zq')]).toEqual([code, false, false]);
    expect(ended.errors).not.toBe('');
  });

  it('nor does the label that other processes see of a command', async () => {
    await using locks = createLockClient({ redis: server.url });
    const args = ['run', 'seen', '--wait', '0', '--', `sleep 5 ${word}`];
    await using _held = await locks.acquire('seen', { label: 'ours' });
    const waiting = cli(
      args.map((arg) => (arg === '0' ? '300ms' : arg)),
      { redis: server.url },
    );
    let labels: Array<string | undefined> = [];
    while (labels.length === 0) labels = (await locks.inspect('seen')).waiters.map(({ label }) => label);
    expect(labels).toEqual(['sleep']);
    await waiting;
  });
});
