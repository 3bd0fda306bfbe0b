import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type LockClientOptions, type RedisLockClient } from 'nestjs-redis-lock/client';
import { type AcquireRequest, exclusive } from 'nestjs-redis-lock/backend';
import { ClusterBackend, RedissonBackend, slotOfKey } from '../support/backends.js';
import { KeptLog } from '../../conformance/kept-log.js';
import { ClusterGroup } from '../support/cluster-group.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { java } from '../support/redisson-backends.js';
import { until } from '../redisson/support/observations.js';

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Rules of docs/how-to/redisson.md: what stands there is what is tested. */
function rulesIn(line: RegExp): string[] {
  const page = readFileSync(new URL('../../docs/how-to/redisson.md', import.meta.url), 'utf8');
  const rules = line.exec(page)?.[1];
  if (rules === undefined) throw new Error(`docs/how-to/redisson.md has no line ${line}`);
  return rules.split(' ');
}
const rulesOf = (user: string): string[] =>
  rulesIn(new RegExp(`^ACL SETUSER ${user} on >secret resetkeys resetchannels (.+)$`, 'm'));
const clusterRules = (): string[] => rulesIn(/^The smallest ACL also needs `(.+?)` there/m);

/** @param given default: a server of its own */
async function scene(rules: readonly string[], given?: RedisServer) {
  const server = given ?? (await startRedis());
  if (!given) closing.push(() => server.stop());
  const admin = new Redis(server.url);
  closing.push(() => admin.disconnect());
  await admin.acl('SETUSER', 'node', 'on', '>secret', 'resetkeys', 'resetchannels', ...rules);
  return { admin, ...clientsOf({ redis: { port: server.port, username: 'node', password: 'secret' } }) };
}

function clientsOf(connection: Pick<LockClientOptions, 'redis' | 'cluster'>) {
  const log = new KeptLog();
  const client = (tokens: 'own' | 'fenced'): RedisLockClient => {
    const made = createLockClient({ ...connection, redisson: { tokens }, log });
    closing.push(() => made.close());
    return made;
  };
  return { log, client };
}

const name = 'product:42';

/** Everything that a lock of this mode does. */
async function everything({
  admin,
  client,
}: Pick<Awaited<ReturnType<typeof scene>>, 'admin' | 'client'>): Promise<void> {
  const channel = `redisson_lock__channel:{${name}}`;
  const listened = (): Promise<void> => until(async () => Number((await admin.pubsub('NUMSUB', channel))[1]) > 0);
  for (const tokens of ['own', 'fenced'] as const) {
    const [one, other] = [client(tokens), client(tokens)];
    await Promise.all([one.connect(), other.connect()]);
    const lock = await one.acquire(name);
    await expect(other.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lock.renew();
    const waiting = other.acquire(name);
    await listened();
    // Without the scripts in its cache the server needs EVAL.
    await admin.script('FLUSH');
    await lock.release();
    const ticket = await (await waiting).export();
    await one.adopt(ticket, async () => undefined);
    await (await one.acquire(name, { minHold: 1 })).release();
    const taken = await other.acquire(name);
    expect((await one.inspect(name)).holders).toHaveLength(1);
    expect(await one.forceRelease(name)).toBe(true);
    await taken.release();
    // A read lock that a dead service in Java has left.
    await admin
      .multi()
      .hset(name, { mode: 'read', [java]: 1 })
      .pexpire(name, 30_000)
      .exec();
    expect(await one.forceRelease(name)).toBe(true);
  }
}

describe('the smallest ACL of docs/how-to/redisson.md', () => {
  it('allows everything that a lock does, with own and with shared tokens', async () => {
    const place = await scene(rulesOf('node'));
    await everything(place);
    const refused = (await place.admin.acl('LOG')) as string[][];
    // ioredis sends its name to newer servers, and ignores a refusal.
    expect(refused.filter((entry) => !entry.includes('client|setinfo'))).toEqual([]);
    expect(place.log.lines.filter((line) => !line.includes('released by force'))).toEqual([]);
  });

  it('is the smallest: every permission in it is needed', async () => {
    const place = await scene(rulesOf('node'));
    await everything(place);
    const stats = await place.admin.info('commandstats');
    const called = [...stats.matchAll(/^cmdstat_([^:]+):calls=\d+/gm)].map((match) => match[1]!);
    const granted = rulesOf('node').filter((rule) => rule.startsWith('+'));
    // Sent by a waiter's second poll, 2 s after the last waiter, and by a process whose callers wait for 5 s (its activity): this test does
    // not wait for them.
    const later = ['+ping', '+unsubscribe', '+hmget'];
    expect(granted.filter((rule) => !called.includes(rule.slice(1)) && !later.includes(rule))).toEqual([]);
  });

  it('refuses names of other services, and the channels of other libraries', async () => {
    const { admin } = await scene(rulesOf('node'));
    for (const command of [
      ['GET', 'order:1'],
      ['PUBLISH', 'orders', '0'],
    ] as const)
      await expect(admin.call('ACL', 'DRYRUN', 'node', ...command)).resolves.toMatch(/no permissions/);
  });
});

/** What the doctor finds about permissions. */
async function missing(backend: RedissonBackend): Promise<string[]> {
  closing.push(() => backend.close());
  await backend.start('doctor', { granted: () => undefined, recovered: () => undefined });
  const found = await backend.examine();
  return found.map(({ code }) => code).filter((code) => code !== 'LOCK_DOCTOR_PERSISTENCE');
}

it('with it the doctor finds no missing permission; without the channels it finds that', async () => {
  for (const [rules, expected] of [
    [rulesOf('node'), []],
    [rulesOf('node').filter((rule) => rule !== '+subscribe'), ['LOCK_DOCTOR_PERMISSION']],
  ] as const) {
    const { admin } = await scene(rules);
    const redis = { port: admin.options.port!, username: 'node', password: 'secret' };
    expect(await missing(new RedissonBackend({ redis, log: new KeptLog() }))).toEqual(expected);
  }
});

/** What a backend does with a lock that it may hold already. */
const steps: ReadonlyArray<[string, (backend: RedissonBackend, fencingToken: number) => Promise<unknown>]> = [
  ['a repeated request', (backend) => backend.acquire(request('a:1'))],
  ['a renewal', (backend, fencingToken) => backend.renew([{ ...request('a:1'), fencingToken, reserve: 5 }])],
  ['a release', (backend) => backend.release({ name, id: 'a:1' })],
  ['minHold', (backend) => backend.release({ name, id: 'a:1', keepUntil: performance.now() + 60_000 })],
  [
    'a hand-over',
    (backend, fencingToken) => backend.adopt({ ...request('b:1'), from: 'a:1', fencingToken, giveUpAt: Infinity }),
  ],
  ['a forced release', (backend, fencingToken) => backend.revoke(name, [{ id: 'a:1', fencingToken }])],
];
const request = (id: string): AcquireRequest => ({
  ...exclusive,
  ...{ name, id, lease: 60_000, reserve: 0, enqueue: false, again: false },
  ...{ giveUpAt: performance.now() + 100, isWanted: () => true },
});

describe.each(['own', 'fenced'] as const)(
  'with %s tokens, a permission that the user loses while it runs',
  (tokens) => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.stop());

    it.each(rulesOf('node').filter((rule) => rule.startsWith('+')))(
      '%s: no lock is left without an end',
      async (rule) => {
        const { admin } = await scene(rulesOf('node'), server);
        const redis = { port: server.port, username: 'node', password: 'secret' };
        const open = async (): Promise<RedissonBackend> => {
          const backend = new RedissonBackend({ redis, tokens, commandTimeout: 200, log: new KeptLog() });
          closing.push(() => backend.close());
          await backend.start(randomUUID(), { granted: () => undefined, recovered: () => undefined });
          return backend;
        };
        for (const [step, act] of [['a request', undefined] as const, ...steps]) {
          const backend = await open();
          const grant = act && (await backend.acquire(request('a:1')));
          await admin.acl('SETUSER', 'node', rule.replace('+', '-'));
          const token = grant?.status === 'granted' ? grant.fencingToken : 0;
          await (act ? act(backend, token) : backend.acquire(request('a:1'))).catch(() => undefined);
          expect([step, await admin.pttl(name)]).not.toEqual([step, -1]);
          await admin.acl('SETUSER', 'node', rule);
          await admin.del(name);
          await backend.close();
        }
      },
    );
  },
);

describe('on a cluster, the smallest ACL with what a cluster also needs', () => {
  const onCluster = async (rules: readonly string[]) => {
    const group = await ClusterGroup.start();
    closing.push(() => group.stop());
    const admins = group.servers.map((server) => group.admin(server));
    for (const admin of admins)
      await admin.acl('SETUSER', 'node', 'on', '>secret', 'resetkeys', 'resetchannels', ...rules);
    const redisOptions = { username: 'node', password: 'secret' };
    const cluster = { ...group.connection, options: { redisOptions } };
    return { admins, admin: group.admin(await group.ownerOf(slotOfKey(name))), cluster, ...clientsOf({ cluster }) };
  };

  it('allows everything that a lock does, and nothing in it is too much', async () => {
    const place = await onCluster([...rulesOf('node'), ...clusterRules()]);
    await everything(place);
    const logs = (await Promise.all(place.admins.map((admin) => admin.acl('LOG')))) as string[][][];
    expect(logs.flat().filter((entry) => !entry.includes('client|setinfo'))).toEqual([]);
    expect(place.log.lines.filter((line) => !line.includes('released by force'))).toEqual([]);
    const stats = (await Promise.all(place.admins.map((admin) => admin.info('commandstats')))).join('\n');
    const called = [...stats.matchAll(/^cmdstat_([^:]+):calls=\d+/gm)].map((match) => match[1]!);
    // Sent 2 s after the last waiter: this test does not wait for it.
    const unused = clusterRules().filter((rule) => !called.includes(rule.slice(1)) && rule !== '+sunsubscribe');
    expect(unused).toEqual([]);
  }, 60_000);

  it('with it the doctor finds no missing permission', async () => {
    const { cluster } = await onCluster([...rulesOf('node'), ...clusterRules()]);
    const options = { log: new KeptLog() };
    const backend = new RedissonBackend(
      options,
      (format) => new ClusterBackend({ ...options, cluster, keyPrefix: '', format }),
    );
    expect(await missing(backend)).toEqual([]);
  }, 60_000);

  it.each(['spublish', 'pubsub|shardnumsub'])(
    'where one node does not permit %s, the application does not start',
    async (command) => {
      const { admins, client } = await onCluster([...rulesOf('node'), ...clusterRules()]);
      for (const admin of admins.slice(0, 3)) {
        await admin.acl('SETUSER', 'node', `-${command}`);
        await expect(client('own').connect()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
        await admin.acl('SETUSER', 'node', `+${command}`);
      }
      await client('own').connect();
    },
    60_000,
  );
});

it('leaves no key but the register, and with shared tokens the counter of each name', async () => {
  const place = await scene(rulesOf('node'));
  await everything(place);
  expect((await place.admin.keys('*')).toSorted()).toEqual([
    'nestjs-redis-lock:token-register',
    'redisson_lock_token:{product:42}',
  ]);
  expect(await place.admin.pttl('nestjs-redis-lock:token-register')).toBeGreaterThan(0);
});
