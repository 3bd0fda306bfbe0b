import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { LockClient, lockDefaults, type LockOptions, Operators, resolveOptions } from 'nestjs-redis-lock/backend';
import { keySpace, RedisBackend, withPoll } from '../support/backends.js';
import { documentedRules } from '../support/documented-acl.js';
import { until } from './engine/engine.js';
import { KeptLog } from '../../conformance/kept-log.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

const closing: Array<() => Promise<void>> = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const close of closing.splice(0).reverse()) await close();
});

interface Scene {
  readonly port: number;
  readonly admin: Redis;
  readonly log: KeptLog;
  client(): LockClient;
}

async function scene(rules: readonly string[]): Promise<Scene> {
  const server: RedisServer = await startRedis();
  closing.push(() => server.stop());
  const admin = new Redis(server.url);
  closing.push(async () => void (await admin.quit()));
  await admin.acl('SETUSER', 'locks', 'on', '>secret', 'resetkeys', 'resetchannels', ...rules);
  const log = new KeptLog();
  return {
    port: server.port,
    admin,
    log,
    client() {
      const backend = new RedisBackend({ redis: { port: server.port, username: 'locks', password: 'secret' }, log });
      const client = new LockClient(backend, { defaults: lockDefaults, maxWaiters: 100 }, log);
      closing.push(() => client.shutdown(0));
      return client;
    },
  };
}

const options = (given: LockOptions = {}) => resolveOptions(given, lockDefaults);

/** Everything a lock does: free, held, waited for, handed to another process and inside one, renewed, fetched, given up. */
async function everything({ admin, client }: Scene): Promise<void> {
  const [one, other] = [client(), client()];
  await Promise.all([one.start(), other.start()]);

  const first = await one.acquire('acl', options());
  await expect(other.acquire('acl', options({ wait: 0 }))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  await expect(other.acquire('acl', options({ wait: 50 }))).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  await first.renew();

  // Three callers behind one claim: the first gets the lock by the release of another process, the last one inside its own process.
  const waiting = [1, 2, 3].map(() => other.acquire('acl', options()));
  while ((await admin.exists('lock:{acl}:1:queue')) === 0);
  // Without the scripts in its cache the server needs EVAL.
  await admin.script('FLUSH');
  let token = first.fencingToken;
  await first.release();
  for (const turn of waiting) {
    const lock = await turn;
    expect(lock.fencingToken).toBeGreaterThan(token);
    token = lock.fencingToken;
    // Its reply comes after those of all earlier commands.
    await lock.renew();
    await lock.release();
  }

  const readers = await Promise.all([1, 2].map(() => other.acquire('acl', options({ shared: true }))));
  const writer = one.acquire('acl', options());
  for (const reader of readers) await reader.release();
  await (await writer).release();
  // The keys that belong to an evicted record are removed.
  await one.acquire('acl', options({ limit: 1 }));
  await admin.del('lock:{acl}');
  await (await other.acquire('acl', options({ limit: 1 }))).release();
}

/** What operators do. */
async function operate({ client }: Scene): Promise<void> {
  const [holder, next, operator] = [client(), client(), client()];
  await Promise.all([holder.start(), next.start(), operator.start()]);
  const lock = await holder.acquire('acl', options());
  const waiting = next.acquire('acl', options());
  const { views } = new Operators(operator);
  while ((await views.inspect('acl')).waiters.length === 0);
  expect(await views.forceRelease('acl')).toBe(true);
  await (await waiting).release();
  await lock.release();
  // The activity of the fleet: kept, read, and taken back.
  for (const lasts of [1, 60_000, 0]) {
    await operator.backend.report!({ process: 'web-1', text: '', rank: 0, lasts });
    await new Operators(holder).activity.fleet(10);
  }
}

const listed = async (client: LockClient): Promise<string[]> => {
  const names: string[] = [];
  for await (const name of new Operators(client).views.list()) names.push(name);
  return names;
};

describe('a user that may not subscribe', () => {
  it.each([
    ['one server', {}],
    ['Redisson', { redisson: true }],
  ])('says so once, and hears of its grants soon after it may: %s', async (_, given) => {
    const place = await scene(['~*', '&*', '+@all', '-subscribe']);
    const redis = { port: place.port, username: 'locks', password: 'secret' };
    const made = (): RedisLockClient => {
      const client = createLockClient(withPoll(600_000, { redis, log: place.log, ...given }));
      closing.push(() => client.close());
      return client;
    };
    const [one, other] = [made(), made()];
    const held = await one.acquire('acl');
    const waiting = other.acquire('acl', { wait: '1m' });
    // Its waiter asks again and again: it polls.
    await until(() => place.log.lines.length > 0);
    const refusals = async (): Promise<number> => ((await place.admin.acl('LOG')) as unknown[]).length;
    await place.admin.acl('LOG', 'RESET');
    while ((await refusals()) === 0);
    await place.admin.acl('SETUSER', 'locks', '+subscribe');
    while (!/sub=[1-9]/.test((await place.admin.client('LIST')) as string));
    await held.release();
    await (await waiting).release();
    const line = expect.stringMatching(/^error .*refuses what the lock needs.*subscribe/);
    expect(place.log.lines).toEqual([line]);
    // Taken away again.
    await place.admin.acl('SETUSER', 'locks', '-subscribe');
    await place.admin.client('KILL', 'TYPE', 'PUBSUB');
    const next = await one.acquire('acl');
    const again = other.acquire('acl', { wait: '1m' });
    await until(() => place.log.lines.length > 1);
    expect(place.log.lines).toEqual([line, line]);
    await next.release();
    await (await again).release();
  });
});

describe('the smallest ACL of docs/operate/production.md', () => {
  it('allows everything that a lock does', async () => {
    const place = await scene(documentedRules());
    await everything(place);
    const refused = (await place.admin.acl('LOG')) as string[][];
    // ioredis sends its name to newer servers, and ignores a refusal.
    expect(refused.filter((entry) => !entry.includes('client|setinfo'))).toEqual([]);
    expect(place.log.lines).toEqual([]);
  });

  it('allows what operators do, and the list of the locks with +scan, as the page says', async () => {
    const place = await scene(documentedRules());
    await operate(place);
    const client = place.client();
    await client.start();
    await client.acquire('acl', options());
    await expect(listed(client)).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('scan'),
    });
    await place.admin.acl('SETUSER', 'locks', '+scan');
    expect(await listed(client)).toEqual(['acl']);
  });

  it('allows renewals in a Redis that is out of memory', async () => {
    const place = await scene(documentedRules());
    const client = place.client();
    await client.start();
    const lock = await client.acquire('acl', options({ lease: '20s' }));
    const [record] = keySpace('lock:').forLock('acl');
    await place.admin.pexpire(record, 10_000);
    await place.admin.config('SET', 'maxmemory', '100kb');
    await lock.renew();
    expect(await place.admin.pttl(record)).toBeGreaterThan(10_000);
    expect(lock.isHeld).toBe(true);
  });

  it('is the smallest: every permission in it is needed', async () => {
    const place = await scene(documentedRules());
    await everything(place);
    const stats = await place.admin.info('commandstats');
    const called = [...stats.matchAll(/^cmdstat_([^:]+):calls=\d+/gm)].map((match) => match[1]!);
    const granted = documentedRules()
      .filter((rule) => rule.startsWith('+'))
      .map((rule) => rule.slice(1));
    // PING is sent by a waiter's second poll, which this test does not wait for.
    expect(granted.filter((command) => !called.includes(command) && command !== 'ping')).toEqual([]);
  });

  it('refuses keys outside of the prefix', async () => {
    const place = await scene(documentedRules());
    const outsider = place.client();
    await outsider.start();
    await expect(place.admin.acl('DRYRUN', 'locks', 'GET', 'other:key')).resolves.toMatch(/no permissions/);
    await expect(place.admin.acl('DRYRUN', 'locks', 'PUBLISH', 'other', 'x')).resolves.toMatch(/no permissions/);
  });

  it('makes the start fail with the missing permission, if the handshake can detect it', async () => {
    const place = await scene(documentedRules().filter((rule) => rule !== '+time'));
    await expect(place.client().start()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining("'time'"),
    });
  });

  it('is enough for a node of a quorum; with restartGuard the start fails without +info', async () => {
    // ioredis logs that it goes on without it.
    jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    for (const [rules, refused] of [
      [documentedRules(), false],
      [documentedRules().filter((rule) => rule !== '+info'), true],
    ] as const) {
      const { port, log } = await scene(rules);
      const redis = { port, username: 'locks', password: 'secret' };
      const node = new RedisBackend({ redis, node: { uptime: true }, log });
      const start = node.start('x', { granted: () => undefined, recovered: () => undefined });
      await (refused
        ? expect(start).rejects.toMatchObject({
            code: 'LOCK_CONFIGURATION',
            message: expect.stringContaining("'info'"),
          })
        : start);
      expect(node.upSince === undefined).toBe(refused);
      await node.close();
    }
  });
});
