import { afterEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { ClusterOptions as ClusterOptions5, RedisOptions as RedisOptions5 } from 'ioredis5';
import { inspect } from 'node:util';
import { createConnection } from '../../lib/backends/redis/redis-connection.js';
import { createLockClient, LockConfigurationError } from '../../lib/client/index.js';
import { resolveConnection } from '../../lib/connection/resolve-connection.js';

/** The refusal of `createLockClient`, which `forRoot` shares. Nothing is opened. */
function refusalOf(options: object): string {
  try {
    void createLockClient(options).close();
    return 'accepted';
  } catch (error) {
    expect(error).toBeInstanceOf(LockConfigurationError);
    return (error as Error).message.replace('createLockClient: ', '');
  }
}

const lazy = { lazyConnect: true };
/** The marks of clients as their packages make them: node-redis 3, 4 and 5, GLIDE 2, Bun 1, ioredis-mock 8, Keyv 5, cache-manager 7. */
class NodeRedis {
  options = { url: 'redis://h' };
  get isOpen(): boolean {
    return false;
  }
  duplicate(): NodeRedis {
    return this;
  }
}
class NodeRedis3 {
  connection_options = {};
  options = {};
  duplicate(): void {}
}
class GlideClient {
  customCommand(): void {}
}
class BunRedis {
  bufferedAmount = 0;
  duplicate(): void {}
}
class RedisMock {
  customCommands = {};
  customCommand(): void {}
  options = {};
  duplicate(): void {}
}
class Keyv {
  opts = {};
  iterator = undefined;
}
class AnotherClient {
  duplicate(): void {}
}

describe('a client that is not of ioredis', () => {
  const clients: Array<[what: string, client: object]> = [
    ['a client of node-redis', new NodeRedis()],
    ['a client of node-redis', new NodeRedis3()],
    ['a client of GLIDE', new GlideClient()],
    ["Bun's RedisClient", new BunRedis()],
    ['a client of ioredis-mock', new RedisMock()],
    ['a cache', new Keyv()],
    ['a cache', { get() {}, set() {}, wrap() {} }],
    ['a promise', Promise.resolve(new NodeRedis())],
    ['a URL object', new URL('redis://h:6379')],
    ['a client that is not of ioredis', new AnotherClient()],
  ];

  it.each(clients)('is refused by name, with what to write, wherever a server is given: %s', (what, client) => {
    expect(refusalOf({ redis: client })).toBe(
      `redis: ${what} was given; the locks need ioredis. Write the URL: redis: 'redis://…', ioredis' options, or a client of ioredis.`,
    );
    const nodes = ['redis://a', client, 'redis://c'];
    expect(refusalOf({ quorum: { nodes } })).toContain(`quorum.nodes: ${what} was given`);
    expect(refusalOf({ cluster: client })).toContain(`cluster: ${what} was given`);
    expect(refusalOf({ cluster: { nodes } })).toContain(`cluster.nodes: ${what} was given`);
  });

  it('is never one of ioredis', () => {
    const cluster = new Cluster([7000], lazy);
    const node = 'quorum.nodes: a Cluster client was given; one Redis server';
    expect(refusalOf({ quorum: { nodes: ['redis://a', 'redis://b', cluster] } })).toContain(node);
    expect(refusalOf({ redis: new Redis(lazy) })).toBe('accepted');
    expect(refusalOf({ redis: new Cluster([7000], lazy) })).toBe('accepted');
  });
});

describe('an option that ioredis does not have', () => {
  it.each<[options: object, name: string, advice: string]>([
    [{ socket: { host: 'h', port: 1 } }, 'socket', ''],
    [{ connection: { host: 'h' } }, 'connection', ''],
    [{ host: 'h', database: 2 }, 'database', 'Write db. '],
    [{ host: 'h', user: 'u' }, 'user', 'Write username. '],
    [{ host: 'h', ssl: true }, 'ssl', 'Write tls. '],
    [{ host: 'h', conectTimeout: 5 }, 'conectTimeout', "Did you mean 'connectTimeout'? "],
    [{ url: undefined }, 'url', ''],
    [{ host: 'h', ttl: 5 }, 'ttl', ''],
  ])('is refused by name: %j', (options, name, advice) => {
    const refusal = `ioredis has no option '${name}'. ${advice}Write `;
    expect(refusalOf({ redis: options })).toContain(`redis: ${refusal}`);
    expect(refusalOf({ quorum: { nodes: ['redis://a', 'redis://b', options] } })).toContain(`quorum.nodes: ${refusal}`);
    expect(refusalOf({ cluster: { nodes: [options] } })).toContain(`cluster.nodes: ${refusal}`);
    expect(refusalOf({ cluster: { nodes: [7000], options: { redisOptions: options } } })).toContain(
      `cluster.options.redisOptions: ${refusal}`,
    );
  });

  it.each([
    ['redis://h?ssl=true', "'ssl'"],
    ['rediss://h:1/2?pool=4&db=3', "'pool'"],
    ['/run/redis.sock?base=2', "'base'"],
  ])('is refused in a URL: %s', (url, name) => {
    expect(refusalOf({ redis: url })).toContain(`redis: ioredis has no option ${name}`);
  });

  it.each([
    [{ password: 'secret' }, "'password'. Write it in redisOptions"],
    [{ redisOption: {} }, "'redisOption'. Remove it"],
  ])('is refused in the options of a cluster: %j', (options, problem) => {
    expect(refusalOf({ cluster: { nodes: [7000], options } })).toContain(
      `cluster.options: ioredis' Cluster has no option ${problem}`,
    );
  });

  it('is no option of ioredis 5 or 6: all of theirs are known to the compiler', () => {
    // One union: no name of ioredis 5 is missing in ioredis 6.
    type Only5 = Exclude<keyof (RedisOptions5 & ClusterOptions5), keyof (RedisOptions & ClusterOptions)>;
    const none: [Only5] extends [never] ? true : false = true;
    expect(none).toBe(true);
  });

  it('does not hide what the installed ioredis has', () => {
    const defaults = Object.fromEntries(
      Object.entries(new Redis(lazy).options).filter(([, value]) => value !== null && value !== undefined),
    );
    expect(refusalOf({ redis: { ...defaults, host: 'h' } })).toBe('accepted');
    expect(refusalOf({ redis: 'redis://u:p@h:1/2?family=6&connectTimeout=500&allowUsernameInURI=true' })).toBe(
      'accepted',
    );
    expect(refusalOf({ redis: '/run/redis.sock?db=2' })).toBe('accepted');
  });
});

describe('an object that says nothing to ioredis', () => {
  class Settings {
    get host(): string {
      return 'h';
    }
  }
  class Fields {
    host = 'h';
    port = 1;
  }

  it('is refused when it is of a class; one with fields is as good as plain options', () => {
    const noField = "redis: host is not the object's own property";
    expect(refusalOf({ redis: new Settings() })).toContain(noField);
    expect(refusalOf({ redis: Object.assign(new Settings(), { port: 6380 }) })).toContain(noField);
    expect(refusalOf({ redis: Object.create({ host: 'h' }) })).toContain(noField);
    expect(refusalOf({ redis: new Map([['host', 'h']]) })).toContain(
      'redis: an object without options of its own given',
    );
    expect(refusalOf({ redis: new Fields() })).toBe('accepted');
  });

  it.each([null, 6379, true, [], ['redis://h'], () => 'redis://h'])('is refused when it is no object: %p', (redis) => {
    expect(refusalOf({ redis })).toMatch(/^redis: .* given; a URL such as/);
  });
});

describe('a value that ioredis would read as another one', () => {
  it.each<[name: string, values: readonly unknown[], expected: string]>([
    ['db', [Number.NaN, -1, 1.5, '', 'shop', {}, Number.POSITIVE_INFINITY], 'a whole number from 0'],
    ['port', [Number.NaN, 0, 65_536, '', '6379x', true], 'a whole number from 1 to 65535'],
    [
      'connectTimeout',
      [Number.NaN, -1, Number.POSITIVE_INFINITY, '5s', 2 ** 31],
      'a whole number from 0 to 2147483647',
    ],
    ['keepAlive', [Number.NaN, true], 'a whole number from 0'],
    ['family', [Number.NaN, 'IPv6'], 'a whole number from 0 to 6'],
    ['host', [7, {}, 'redis://h', 'user:p@h', 'h h'], 'a plain name \\(a URL'],
    ['host', ['${REDIS_HOST}', '$REDIS_HOST', '{host}', '"h"', "'h'"], 'a plain name \\(without quotes'],
    [
      'host',
      ['h:6379', '127.0.0.1:6379', 'h:', ':6379', '[::1]', '[::1]:6379'],
      'a name or an address alone .*port: 6379',
    ],
    ['name', [7, 'redis://h', '${MASTER}'], 'a plain name'],
    ['path', [7, 'redis://h'], 'the path of a socket'],
    ['keyPrefix', [7, () => 'a'], 'a string'],
    ['username', [7], 'a string'],
    ['password', [1234, {}], 'a string'],
    ['tls', ['false', 'yes', 1], 'an object or true'],
  ])('is refused: %s', (name, values, expected) => {
    for (const value of values) {
      const options = { ...(name !== 'host' && { host: 'h' }), [name]: value };
      const problem = new RegExp(`redis\\.${name}: .* given, ${expected}.* expected`);
      expect(refusalOf({ redis: options })).toMatch(problem);
      const client = new Redis({ ...lazy });
      (client.options as Record<string, unknown>)[name] = value;
      expect(refusalOf({ redis: client })).toMatch(new RegExp(problem.source.replace('redis', 'redis\\.options')));
      const nodes = [options, 'redis://b', 'redis://c'];
      expect(refusalOf({ quorum: { nodes } })).toContain(`quorum.nodes.${name}: `);
      expect(refusalOf({ cluster: { nodes: [options] } })).toContain(`cluster.nodes.${name}: `);
      if (name !== 'host' && name !== 'port')
        expect(refusalOf({ cluster: { nodes: [7000], options: { redisOptions: options } } })).toContain(
          `cluster.options.redisOptions.${name}: `,
        );
    }
  });

  it('is none of these: digits from the environment, null, and what is left out', () => {
    const { host, ...rest } = { host: 'h', port: '6379', db: '2', password: null, username: undefined, tls: null };
    expect(refusalOf({ redis: { host, ...rest, connectTimeout: '500', family: '4' } })).toBe('accepted');
  });

  it.each(['localhost', '127.0.0.1', '::1', '::', 'fe80::1%eth0', 'redis_1.svc.local.', 'bücher.example'])(
    'is none of these: the host %s',
    (host) => {
      expect(refusalOf({ redis: { host, port: 1 } })).toBe('accepted');
      expect(refusalOf({ redis: { sentinels: [{ host }], name: 'main' } })).toBe('accepted');
    },
  );

  it.each(['redis://[::1]:6379', 'redis://${REDIS_HOST}:6379'])('in a URL is judged by what it means: %s', (url) => {
    expect(refusalOf({ redis: url })).toMatch(url.includes('$') ? /^redis\.host: .* placeholder/ : /^accepted$/);
  });

  it('is a database of a cluster, which has one', () => {
    const withDb = (db: unknown): object => ({ cluster: { nodes: [7000], options: { redisOptions: { db } } } });
    expect(refusalOf(withDb(1))).toContain('cluster.options.redisOptions.db: a cluster has one database');
    expect(refusalOf(withDb(0))).toBe('accepted');
  });

  it.each([
    ['no list', 'h:26379'],
    ['an empty list', []],
    ['a text', ['h:26379']],
    ['an entry without its host', [{ host: undefined, port: 26_379 }]],
    ['an entry with a foreign option', [{ host: 'h', url: 'redis://h' }]],
    ['an entry with a URL in place of its host', [{ host: 'redis://:p@h' }]],
    ['an entry with a port in its host', [{ host: 'h:26379' }]],
    ['an entry with a wrong port', [{ host: 'h', port: Number.NaN }]],
  ])('is a list of sentinels with %s', (_what, sentinels) => {
    expect(refusalOf({ redis: { sentinels, name: 'main' } })).toContain(
      'redis: sentinels need at least one { host, port }',
    );
    expect(refusalOf({ redis: { sentinels: [{ host: 'h' }] } })).toContain('and name: the name of the master');
  });
});

describe('a server without a host', () => {
  it.each(['redis://undefined:6379', 'redis://:password@undefined', 'redis://null/0', 'rediss:///0'])(
    'is refused in a URL: a variable is not set (%s)',
    (url) => {
      expect(refusalOf({ redis: url })).toContain('redis: there is no host in it');
      expect(refusalOf({ cluster: { nodes: [url] } })).toContain('cluster.nodes: there is no host in it');
    },
  );

  it.each([{ host: undefined }, { host: '' }, { host: null, port: 7000 }])(
    'is refused among several servers: %j',
    (node) => {
      expect(refusalOf({ cluster: { nodes: [node] } })).toContain('cluster.nodes: there is no host in it');
      expect(refusalOf({ quorum: { nodes: ['redis://a', 'redis://b', node] } })).toContain(
        'quorum.nodes: there is no host',
      );
    },
  );

  it('is refused as an empty string', () => {
    expect(refusalOf({ redis: '' })).toContain('redis: an empty string given');
  });
});

describe('a URL that ioredis reads in another way than it is meant', () => {
  it.each([
    'redis://user:12#secret@host:6379',
    'redis://user:12/secret@host:6379',
    'redis://user:12/0secret@host',
    'redis://user:12/0/secret@host',
    'redis://user:12?secret@host',
    'redis://:secret%zz@host',
  ])('is refused, and nothing of it is shown: %s', (url) => {
    for (const options of [
      { redis: url },
      { quorum: { nodes: [url, 'redis://b', 'redis://c'] } },
      { cluster: { nodes: [url] } },
    ]) {
      const refusal = refusalOf(options);
      expect(refusal).not.toBe('accepted');
      expect(inspect(refusal)).not.toContain('secret');
    }
  });
});

describe('the server on this machine, when no option names one', () => {
  const production = process.env['NODE_ENV'];
  afterEach(() => {
    process.env['NODE_ENV'] = production;
  });

  it.each<[given: object, why: string | undefined, isSlip: boolean]>([
    [{ redis: undefined }, 'the default, as redis is undefined', true],
    [{ cluster: undefined }, 'the default, as cluster is undefined', true],
    [{ quorum: undefined, lease: '5s' }, 'the default, as quorum is undefined', true],
    [{ redis: { host: undefined, port: 1 } }, 'the default host, as redis.host is undefined', true],
    [{ redis: { host: null } }, 'the default host, as redis.host is null', true],
    [{ redis: { host: '' } }, 'the default host, as redis.host is empty', true],
    [{}, 'the default, as no redis is given', false],
    [{ redis: {} }, 'the default, as redis is empty', false],
    [{ redis: 'redis://127.0.0.1:6379' }, undefined, false],
    [{ redis: { port: 6379 } }, undefined, false],
    [{ redis: { host: undefined, path: '/run/redis.sock' } }, undefined, false],
    [{ redis: new Redis(lazy) }, undefined, false],
    [{ redis: undefined, cluster: { nodes: [7000] } }, undefined, false],
    [{ redis: undefined, backend: { acquire() {} } }, undefined, false],
  ])('has its reason: %j', (given, why, isSlip) => {
    for (const environment of ['development', 'production']) {
      process.env['NODE_ENV'] = environment;
      const { byDefault } = resolveConnection(given);
      expect(byDefault).toEqual(why && { why, isSlip: isSlip || environment === 'production' });
    }
  });
});

describe('keyPrefix', () => {
  it('is refused when a variable that it is made of is not set: the process would share no lock with others', () => {
    const { NOT_SET } = process.env;
    for (const keyPrefix of [`${NOT_SET}:`, `{${NOT_SET}}:`, `shop:${NOT_SET}:`, 'shop:[object Object]:'])
      expect(refusalOf({ keyPrefix })).toContain('a variable that it is made of is not set');
    for (const keyPrefix of ['shop:', '{shop}:', 'undefined-behaviour:', 'null-values:'])
      expect(refusalOf({ keyPrefix })).toBe('accepted');
  });
});

it('sentinels are reached with the options of ioredis for sentinels, including TLS and addresses behind a NAT', () => {
  const given = {
    sentinels: [{ host: '127.0.0.1', port: 26_379 }],
    name: 'locks',
    password: 'secret',
    sentinelUsername: 'watcher',
    sentinelPassword: 'secret',
    enableTLSForSentinelMode: true,
    sentinelTLS: { servername: 'sentinels' },
    tls: { servername: 'master' },
    natMap: { '10.0.0.1:6379': { host: '127.0.0.1', port: 6379 } },
  };
  for (const connection of [given, new Redis({ ...given, lazyConnect: true })]) {
    expect(createConnection(connection, 1000).options).toMatchObject(given);
  }
});
