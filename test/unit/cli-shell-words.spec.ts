import { describe, expect, it } from '@jest/globals';
import type { RedisLockClient } from '../../lib/client/redis-lock.client.js';
import type { Arguments } from '../../lib/cli/arguments.js';
import { filterOf, look } from '../../lib/cli/list.js';
import { inShellWords } from '../../lib/cli/shell-words.js';

const given = (options: Arguments['options'] = {}, urls: string[] = []): Arguments => ({
  options,
  urls,
  names: [],
  child: [],
});

describe('a message of the library on the command line', () => {
  it.each([
    ['RedisLockClient.acquire: key: undefined given', 'NAME: undefined given'],
    ["RedisLockClient.acquire 'a: b': wait: 'x' is not a duration", "--wait: 'x' is not a duration"],
    ['redis.host: a string given', 'redis.host: a string given'],
    ['no answer (option commandTimeout), or (option quorum.nodeTimeout).', 'no answer (--timeout), or (--timeout).'],
    ['set option lease, option minHold, option maxHold', 'set --lease, --min-hold, --max-hold'],
    ['option limit; option shared; option label; option startsWith', '--limit; --shared; --label; --starts-with'],
    ['redisson: it has no list', '--redisson: it has no list'],
    ['a word behind it: wait: is as it was', 'a word behind it: wait: is as it was'],
    ['option stallLimit has no word here', 'option stallLimit has no word here'],
  ])('has the words of the shell: %s', (message, said) => {
    expect(inShellWords(message, given())).toBe(said);
    expect(inShellWords(message, undefined)).toBe(said);
  });

  it.each([
    ['keyPrefix: 7 given', '--prefix: 7 given'],
    ['quorum.nodes: three are needed', '--quorum: three are needed'],
    ['cluster.nodes: one is needed', '--cluster: one is needed'],
    ['redis: there is no host in it', 'REDIS_URL: there is no host in it'],
  ])('names the place of the connection, but not where an options file has names of its own: %s', (message, said) => {
    expect(inShellWords(message, given())).toBe(said);
    expect(inShellWords(message, given({ config: 'options.json' }))).toBe(message);
    expect(inShellWords(message, undefined)).toBe(message);
    expect(inShellWords('wait: x', given({ config: 'options.json' }))).toBe('--wait: x');
  });

  it('names the place of the URL: an option, or a file', () => {
    expect(inShellWords('redis: wrong', given({}, ['redis://h']))).toBe('--url: wrong');
    expect(inShellWords('redis: wrong', given({ 'url-file': 'urls' }))).toBe('--url-file: wrong');
  });
});

it.each([
  [['a', 'b'], false],
  [['a', 'b', 'c'], true],
])('a look at %j with the limit 2 counts no name twice that it knows: there are more is %p', async (names, more) => {
  const locks = {
    list: async function* () {
      yield* names;
    },
    inspect: async (key: string) => ({ key, kind: 'exclusive', holders: [], waiters: [] }),
  } as unknown as RedisLockClient;
  for (const known of [new Set<string>(), new Set(['a', 'b'])])
    expect((await look(locks, filterOf(given({ limit: '2' })), known)).more).toBe(more);
});
