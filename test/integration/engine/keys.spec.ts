import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { exclusive } from 'nestjs-redis-lock/backend';
import { RedisBackend } from '../../support/backends.js';
import { Party } from '../../../conformance/party.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { connectTo, Engine, keysOf, unique, until } from './engine.js';

const url = sharedRedisUrl();
let admin: Redis;

beforeAll(() => {
  admin = connectTo(url);
});
afterAll(() => {
  admin.disconnect();
});

const withDb = (db: number): string => new URL(`/${db}`, url).href;

describe('the keys of a lock', () => {
  it('are one record while it is held, and the register', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    const lock = await a.acquire('product:42');
    expect(await keysOf(admin, keyPrefix)).toEqual([`${keyPrefix}token-register`, `${keyPrefix}{product:42}`]);
    await lock.release();
    expect(await keysOf(admin, keyPrefix)).toEqual([`${keyPrefix}token-register`]);
  });

  it('all expire: the record with the lease, the register within the guard window', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await using b = await Engine.start({ redis: url, keyPrefix });
    await a.acquire('x', { lease: 20_000 });
    await b.queue('x');
    const keys = await keysOf(admin, keyPrefix);
    expect(keys).toEqual(['token-register', '{x}', '{x}:1:queue', '{x}:1:waiters'].map((key) => keyPrefix + key));
    for (const key of keys) {
      const left = await admin.pttl(key);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(key.endsWith('{x}') ? 20_000 : 60_000);
    }
  });

  it('are gone after the last waiter left, whether it was served or gave up', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await using b = await Engine.start({ redis: url, keyPrefix });
    const held = await a.acquire('x');
    const abort = new AbortController();
    const { lock: cancelled } = await b.queue('x', { signal: abort.signal });
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ name: 'AbortError' });
    await b.backend.until(() => b.backend.releases.some(({ reply }) => reply === 'cancelled'));
    expect(await keysOf(admin, keyPrefix)).toEqual([`${keyPrefix}token-register`, `${keyPrefix}{x}`]);
    const { lock: served } = await b.queue('x');
    await held.release();
    await (await served).release();
    expect(await keysOf(admin, keyPrefix)).toEqual([`${keyPrefix}token-register`]);
  });

  it('of a holder and a waiter that both died expire', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await using b = await Engine.start({ redis: url, keyPrefix, poll: 100, commandTimeout: 100 });
    await a.acquire('x', { lease: 300 });
    await b.queue('x');
    await Promise.all([a.backend.close(), b.backend.close()]);
    await until(async () => (await keysOf(admin, keyPrefix)).length === 1);
  });

  it('all expire when a newcomer removes the last dead waiter while the queue has longer to live', async () => {
    const keyPrefix = `${unique()}:`;
    const join = (poll: number, commandTimeout?: number): Promise<Party> =>
      new Party(new RedisBackend({ redis: url, keyPrefix, poll, commandTimeout, log: new KeptLog() })).start();
    await using patient = await join(60_000);
    await using dying = await join(100, 500);
    await using newcomer = await join(100);
    const held = await patient.take('x');
    const dead = await dying.queue('x', { lease: 60 });
    // The queue lives for two polls of this waiter, and nothing shortens that.
    const alive = await patient.queue('x');
    // The dying waiter is granted the lock first, and lets the grant lapse.
    await patient.release(held);
    const [entry, called] = await admin.hmget(`${keyPrefix}{x}:1:waiters`, dead.id, `~${dying.id}`);
    const [aliveUntil, askedAt] = entry!.split(' ').map(Number);
    // The mark of the grant lasts a little longer than the waiter, and keeps the hash.
    const forgottenAt = Number.parseInt(called!, 10) + aliveUntil! - askedAt!;
    await until(async () => {
      const [seconds, micros] = await admin.time();
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) > forgottenAt;
    });
    await patient.untilGranted(alive, { enqueue: false });
    expect(await admin.zrange(`${keyPrefix}{x}:1:queue`, '0', '-1')).toEqual([dead.id]);
    const { id } = await newcomer.queue('x');
    expect(await admin.hkeys(`${keyPrefix}{x}:1:waiters`)).toEqual([id]);
    const keys = await keysOf(admin, keyPrefix);
    expect(keys).toEqual(['token-register', '{x}', '{x}:1:queue', '{x}:1:waiters'].map((key) => keyPrefix + key));
    for (const key of keys) expect(await admin.pttl(key)).toBeGreaterThan(0);
  });

  it('begin with the prefix of the given client or options, then the prefix of the library', async () => {
    const prefix = `${unique()}:`;
    const client = new Redis(url, { keyPrefix: prefix, lazyConnect: true });
    const client5 = new Redis5(url, { keyPrefix: prefix, lazyConnect: true }) as unknown as Redis;
    const { hostname, port } = new URL(url);
    const options = { host: hostname, port: Number(port), keyPrefix: prefix };
    for (const redis of [client, client5, options, `${url}?keyPrefix=${encodeURIComponent(prefix)}`]) {
      await using a = await Engine.start({ redis, keyPrefix: 'shop:' });
      await using b = await Engine.start({ redis, keyPrefix: 'shop:' });
      const held = await a.acquire('x');
      expect(await keysOf(admin, prefix)).toContain(`${prefix}shop:{x}`);
      // The grant arrives: keys and channels match.
      const { lock } = await b.queue('x');
      await held.release();
      await (await lock).release();
      expect(b.backend.grants).toMatchObject([{ name: 'x' }]);
    }
  });

  it('of different prefixes and of different databases are different locks', async () => {
    const name = unique();
    const engines = await Promise.all(
      [
        { redis: url },
        { redis: url, keyPrefix: `${unique()}:` },
        { redis: withDb(1) },
        { redis: withDb(2) },
        { redis: { ...new Redis(url, { lazyConnect: true }).options, db: 3 } },
      ].map((options) => Engine.start(options)),
    );
    for (const engine of engines) await engine.acquire(name, { wait: 0 });
    await Promise.all(engines.map((engine) => engine[Symbol.asyncDispose]()));
  });

  it('of a database other than 0 are handed on like those of any other', async () => {
    const name = unique();
    await using a = await Engine.start({ redis: withDb(3) });
    await using b = await Engine.start({ redis: withDb(3) });
    const held = await a.acquire(name);
    const { lock } = await b.queue(name);
    await held.release();
    await (await lock).release();
    expect(b.backend.grants).toMatchObject([{ name }]);
  });

  it.each(['}', '}:queue', ':', ':}', '{}', 'a}b'])(
    'of the name %j share one hash slot, and differ from those of all other names',
    async (name) => {
      const keyPrefix = `${unique()}:`;
      await using a = await Engine.start({ redis: url, keyPrefix });
      await using b = await Engine.start({ redis: url, keyPrefix });
      const held = await a.acquire(name);
      const { lock } = await b.queue(name);
      const [, record, queue, waiters] = await keysOf(admin, keyPrefix);
      // What Redis Cluster hashes: the part in the first braces, unless that is empty.
      const tag = (key: string): string => /\{([^}]+)\}/.exec(key)?.[1] ?? key;
      expect([tag(queue!), tag(waiters!)]).toEqual([tag(record!), tag(record!)]);
      await held.release();
      await lock;
      expect(b.backend.grants).toMatchObject([{ name }]);
    },
  );
});

describe('fencing tokens on one server (G3)', () => {
  it('continue from the register when the clock of the server was set back', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    const { fencingToken } = await a.acquire('x');
    // As if that token had come from a clock that was 30 s ahead of the present one.
    const ahead = fencingToken + 30_000_000;
    await admin.set(`${keyPrefix}token-register`, ahead, 'PX', 60_000);
    const tokens: number[] = [];
    for (const name of ['y', 'z', 'y']) {
      const lock = await a.acquire(name);
      tokens.push(lock.fencingToken);
      await lock.release();
    }
    expect(tokens).toEqual([ahead + 1, ahead + 2, ahead + 3]);
    expect(await admin.get(`${keyPrefix}token-register`)).toBe(String(ahead + 3));
  });

  it('continue from the clock when the server lost all data, also right after many contended grants', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await new Party(new RedisBackend({ redis: url, keyPrefix, log: new KeptLog() })).start();
    // Like contended grants, each requests tokens for local hand-offs.
    const takes = Array.from({ length: 2_000 }, (_, index) => a.take(`hot:${index}`, { reserve: 256, lease: 2_000 }));
    const tokens = (await Promise.all(takes)).map(({ tokensUntil }) => tokensUntil);
    await admin.del(...(await keysOf(admin, keyPrefix)));
    const after = await a.take('y');
    expect(after.fencingToken).toBeGreaterThan(Math.max(...tokens));
  });

  it('that a renewal reserved are granted to no other claim', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await new Party(new RedisBackend({ redis: url, keyPrefix, log: new KeptLog() })).start();
    const many = { lease: 20_000, reserve: 60_000_000 };
    const held = await a.take('x', many);
    const [renewed] = await a.backend.renew([{ ...held, ...many }]);
    if (typeof renewed !== 'object') throw new Error(renewed);
    // It requests more than there are since then, so it gets the first free one.
    expect((await a.take('y', many)).fencingToken).toBe(renewed.tokensUntil + 1);
  });

  it('are kept in full: a register of 16 digits is neither rounded nor written as 1e+15', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await admin.set(`${keyPrefix}token-register`, '8999999999999997', 'PX', 60_000);
    const lock = await a.acquire('x');
    expect(lock.fencingToken).toBe(8_999_999_999_999_998);
    await lock.renew();
    expect(await admin.get(`${keyPrefix}{x}`)).toContain(' 8999999999999998 ');
    await lock.release();
    expect((await a.acquire('x')).fencingToken).toBe(8_999_999_999_999_999);
  });

  it('stay in the register for the guard window after the last grant', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await a.acquire('x');
    await admin.pexpire(`${keyPrefix}token-register`, 1_000);
    await a.acquire('y');
    expect(await admin.pttl(`${keyPrefix}token-register`)).toBeGreaterThan(50_000);
  });
});

describe('a record that was deleted by hand', () => {
  it('lets the next request serve the waiter, which it then gets as the holder', async () => {
    const keyPrefix = `${unique()}:`;
    const join = async (): Promise<Party> =>
      new Party(new RedisBackend({ redis: url, keyPrefix, log: new KeptLog() })).start();
    await using a = await join();
    await using b = await (await join()).reachable();
    await a.take('x');
    const next = await b.queue('x');
    await admin.del(`${keyPrefix}{x}`);
    const refused = await a.ask(a.claim('x'), { enqueue: false });
    const { fencingToken } = await b.pushed(next);
    expect(refused).toMatchObject({ status: 'contended', holder: { id: next.id, fencingToken } });
  });
});

describe('a key that holds something else', () => {
  const foreign: Array<[string, (key: string) => Promise<unknown>]> = [
    ['a string', (key) => admin.set(key, 'mine')],
    ['a hash', (key) => admin.hset(key, 'a', '1')],
    ['a list', (key) => admin.rpush(key, '1')],
  ];

  it.each(foreign)('is an error that names the lock, for %s, and not contended forever', async (_, put) => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await put(`${keyPrefix}{x}`);
    for (const wait of [0, 5_000]) {
      await expect(a.acquire('x', { wait })).rejects.toMatchObject({
        code: 'LOCK_CONFIGURATION',
        key: 'x',
        message: expect.stringContaining(`'x'`),
      });
    }
    await a.acquire('y', { wait: 0 });
    await admin.del(`${keyPrefix}{x}`);
    await a.acquire('x', { wait: 0 });
  });

  it('keeps a caller out without naming a holder if it is a lock of another layout', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await admin.set(`${keyPrefix}{x}`, 'another layout v2', 'PX', 20_000);
    await admin.zadd(`${keyPrefix}{y}`, 1, 'a.b.1:0');
    await admin.pexpire(`${keyPrefix}{y}`, 20_000);
    for (const name of ['x', 'y']) {
      await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({
        ...{ code: 'LOCK_CONTENDED', holder: undefined },
        message: expect.stringContaining('is held by another caller'),
      });
      await expect(a.acquire(name, { wait: 60 })).rejects.toMatchObject({
        ...{ code: 'LOCK_WAIT_TIMEOUT', holder: undefined },
        message: expect.not.stringContaining('held'),
      });
    }
  });

  it('instead of the queue is the same error for a caller that would wait', async () => {
    const keyPrefix = `${unique()}:`;
    await using a = await Engine.start({ redis: url, keyPrefix });
    await a.acquire('x');
    await admin.set(`${keyPrefix}{x}:1:queue`, 'mine');
    await using b = await Engine.start({ redis: url, keyPrefix });
    await expect(b.acquire('x')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION', key: 'x' });
  });

  it('ends the hold that it overwrote, and no other one of the same renewal', async () => {
    const keyPrefix = `${unique()}:`;
    const backend = new RedisBackend({ redis: url, keyPrefix, log: new KeptLog() });
    await backend.start('keys', { granted: () => undefined, recovered: () => undefined });
    const take = async (name: string) => {
      const request = {
        ...exclusive,
        name,
        id: `keys:${name}`,
        lease: 20_000,
        reserve: 0,
        enqueue: false,
        again: false,
      };
      const reply = await backend.acquire({ ...request, giveUpAt: performance.now() + 5_000, isWanted: () => true });
      if (reply.status !== 'granted') throw new Error(reply.status);
      return { ...request, fencingToken: reply.fencingToken };
    };
    const holds = [await take('a'), await take('b'), await take('c')];
    await admin.del(`${keyPrefix}{b}`);
    await admin.hset(`${keyPrefix}{b}`, 'x', '1');
    expect((await backend.renew(holds)).map((reply) => typeof reply === 'object' || reply)).toEqual([
      true,
      'lost',
      true,
    ]);
    await backend.close();
    await admin.del(`${keyPrefix}{b}`);
  });
});
