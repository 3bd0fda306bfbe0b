import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lock } from 'nestjs-redis-lock/backend';
import { RedisBackend } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { freePort, startRedis, sharedRedisUrl } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { connectTo, Engine, unique, until } from './engine.js';

const url = sharedRedisUrl();

describe("a user's client", () => {
  it.each([
    ['ioredis 6', () => new Redis(url, { lazyConnect: true })],
    ['ioredis 5', () => new Redis5(url, { lazyConnect: true }) as unknown as Redis],
  ])('of %s is duplicated: neither connected, nor listened to, nor closed', async (_, create) => {
    const client = create();
    const listeners = client.eventNames().map((event) => [event, client.listenerCount(event)]);
    {
      await using a = await Engine.start({ redis: client });
      await using b = await Engine.start({ redis: client });
      const name = unique();
      const held = await a.acquire(name);
      const { lock } = await b.queue(name);
      await held.release();
      await (await lock).release();
    }
    expect(client.status).toBe('wait');
    expect(client.eventNames().map((event) => [event, client.listenerCount(event)])).toEqual(listeners);
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  it.each([
    ['of the same ioredis', () => new Redis(url, { lazyConnect: true })],
    ['of another version', () => new Redis5(url, { lazyConnect: true }) as unknown as Redis],
  ])('%s gives connections that show tracers neither names nor claim ids', async (_, create) => {
    const name = unique();
    const traced: string[] = [];
    const onCommand = (message: unknown): void => void traced.push(JSON.stringify(message));
    subscribe('tracing:ioredis:command:start', onCommand);
    try {
      await using a = await Engine.start({ redis: create() });
      const lock = await a.acquire(name);
      await lock.renew();
      await lock.release();
    } finally {
      unsubscribe('tracing:ioredis:command:start', onCommand);
    }
    expect(traced.filter((text) => text.includes('evalsha')).length).toBeGreaterThanOrEqual(3);
    expect(traced.filter((text) => text.includes(name) || text.includes(`.${process.pid}:`))).toEqual([]);
  });

  it('may have unsafe options: the connections of the library have not', async () => {
    const client = new Redis(url, {
      lazyConnect: true,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      enableAutoPipelining: true,
      autoResendUnfulfilledCommands: true,
      commandTimeout: 1,
      stringNumbers: true,
      retryStrategy: () => null,
    });
    await using a = await Engine.start({ redis: client });
    await using b = await Engine.start({ redis: client });
    const name = unique();
    const held = await a.acquire(name);
    expect(held.fencingToken).toEqual(expect.any(Number));
    const { lock } = await b.queue(name);
    await held.release();
    await (await lock).release();
  });
});

describe('the options of a Redis backend', () => {
  it.each(['', 'app:{shop}:', 'app:{', '{app}:{shop}:'])(
    "refuse the keyPrefix '%s': two prefixes could share names",
    (keyPrefix) => {
      expect(() => new RedisBackend({ keyPrefix, redis: url, log: new KeptLog() })).toThrow(
        expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringContaining('keyPrefix') }),
      );
    },
  );

  it('accept a keyPrefix that begins with a hash tag, and that of a given client', async () => {
    const client = new Redis(url, { lazyConnect: true, keyPrefix: '{shop}:' });
    await using a = await Engine.start({ redis: client, keyPrefix: '' });
    const name = unique();
    const held = await a.acquire(name);
    await using b = await Engine.start({ redis: url, keyPrefix: '{shop}:' });
    await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await held.release();
  });

  it('have the same claim window as the scripts', () => {
    const path = join(import.meta.dirname, '../../../lib/backends/redis/scripts/includes/serve.lua');
    const [, window] = /^local window = (\d+)$/m.exec(readFileSync(path, 'utf8'))!;
    expect(new RedisBackend({ redis: url, log: new KeptLog() }).claimWindow).toBe(Number(window));
  });
});

describe('a Redis that is unavailable', () => {
  it('at the start makes start() reject; locks are unavailable, and work as soon as it runs', async () => {
    const port = await freePort();
    await using a = new Engine({ redis: `redis://127.0.0.1:${port}` });
    await expect(a.client.start()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(a.acquire(unique())).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    await using server = await startRedis({ port });
    expect(server.port).toBe(port);
    await until(() =>
      a.acquire(unique(), { wait: 0 }).then(
        (lock) => lock.release().then(() => true),
        () => false,
      ),
    );
  });

  it('is reported as unavailable, from the loss of the connection until it works again', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url, commandTimeout: 300 });
    const isAvailable = (): boolean => {
      const [[address, available], ...others] = [...a.backend.availability()] as [[string, boolean]];
      expect([address, others]).toEqual([`${server.host}:${server.port}`, []]);
      return available;
    };
    expect(isAvailable()).toBe(true);
    await server.kill();
    await until(() => !isAvailable());
    await server.restart();
    await until(isAvailable);
    await a.acquire(unique(), { wait: 0 });
  });

  it('does not keep close() from settling', async () => {
    const a = new Engine({ redis: `redis://127.0.0.1:${await freePort()}` });
    await expect(a.client.start()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await a.client.shutdown(0);
  });

  it('and restarts empty tells the holder its loss at once, not at its next renewal; the waiter gets the lock with a larger token', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const name = unique();
    const lost = await a.acquire(name, { lease: 300_000, renew: true });
    const { lock } = await b.queue(name);
    await server.restart({ empty: true });
    const next = await lock;
    expect(next.fencingToken).toBeGreaterThan(lost.fencingToken);
    await until(() => lost.signal.aborted);
    expect(lost.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
  });

  it('while no caller uses it does not affect later callers', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url });
    await (await a.acquire(unique())).release();
    await server.restart();
    await until(() => a.log.lines.some((line) => line.startsWith('log')));
    await (await a.acquire(unique())).release();
    expect(a.log.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);
  });

  it('for longer than a lease: the holder learns its loss at the end of the lease, without Redis', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url });
    const lock = await a.acquire(unique(), { lease: 2_400, renew: true });
    await server.kill();
    await until(() => lock.signal.aborted);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    await lock.release();
  });

  it('leaves no connection behind at the end', async () => {
    await using server = await startRedis();
    await using admin = connectTo(server.url);
    const count = async (): Promise<number> =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n').length;
    const a = await Engine.start({ redis: server.url });
    const b = await Engine.start({ redis: server.url });
    const name = unique();
    await a.acquire(name);
    await b.queue(name);
    expect(await count()).toBe(4);
    await Promise.all([a.client.shutdown(0), b.client.shutdown(0)]);
    await until(async () => (await count()) === 1);
  });
});

describe('a Redis that replies late or never', () => {
  it('is unavailable within the command time-out, and takes no lock for commands from the abandoned connection', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url, commandTimeout: 150 });
    const name = unique();
    server.pause();
    await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    // The acquire is in a socket that the server will read after `notAfter`; its sender is gone and releases nothing.
    await a.backend.close();
    await new Promise((resolve) => setTimeout(resolve, 500));
    server.resume();
    await using b = await Engine.start({ redis: server.url });
    await b.acquire(name, { wait: 0 });
  });

  it.each([
    ['an acquire is unavailable', (a: Engine) => a.acquire(unique(), { wait: 100 }), 'LOCK_UNAVAILABLE'],
    ['a renewal is unavailable', (_: Engine, lock: Lock) => lock.renew(), 'LOCK_UNAVAILABLE'],
    ['an inspect is unavailable', (a: Engine) => a.operators.views.inspect(unique()), 'LOCK_UNAVAILABLE'],
    ['a release ends', (_: Engine, lock: Lock) => lock.release(), undefined],
  ])('while the scripts are loaded again: %s, and the client ends', async (_, call, code) => {
    await using server = await startRedis();
    await using proxy = await TcpProxy.to(server.port);
    await using admin = connectTo(server.url);
    const a = await Engine.start({ redis: proxy.url, commandTimeout: 150 });
    const lock = await a.acquire(unique());
    await admin.script('FLUSH');
    // It gets NOSCRIPT, and the commands that it then sends are dropped.
    proxy.swallowFrom('LOAD');
    const outcome = await call(a, lock).catch((error: { code: string }) => error.code);
    expect(outcome).toBe(code);
    await a.client.shutdown(0);
  });

  it('and only the reply is lost: the lock without an owner is released', async () => {
    await using proxy = await TcpProxy.to(Number(new URL(url).port || 6379));
    await using a = await Engine.start({ redis: proxy.url, commandTimeout: 150 });
    await using b = await Engine.start({ redis: url });
    const name = unique();
    proxy.dropReplies();
    await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await proxy.heal();
    await (await b.acquire(name)).release();
  });

  it('and the reply to a release is lost: the lock is free, and its holder gets no loss', async () => {
    await using proxy = await TcpProxy.to(Number(new URL(url).port || 6379));
    await using a = await Engine.start({ redis: proxy.url, commandTimeout: 150 });
    await using b = await Engine.start({ redis: url });
    const name = unique();
    const lock = await a.acquire(name);
    proxy.dropReplies();
    await lock.release();
    expect(lock.signal.aborted).toBe(false);
    await b.acquire(name, { wait: 0 });
    await proxy.heal();
  });

  it('gets a release that never reached it as soon as it is reachable again', async () => {
    await using proxy = await TcpProxy.to(Number(new URL(url).port || 6379));
    await using a = await Engine.start({ redis: proxy.url, commandTimeout: 150 });
    await using b = await Engine.start({ redis: url });
    const name = unique();
    const lock = await a.acquire(name);
    proxy.dropCommands();
    await lock.release();
    await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await proxy.heal();
    // Far sooner than the lease of 30 s.
    await (await b.acquire(name, { wait: 5_000 })).release();
  });
});

describe('Redis', () => {
  it('that forgot the scripts gets them again, without an effect on callers', async () => {
    // A server of its own: other tests run at the same time.
    await using server = await startRedis();
    await using admin = connectTo(server.url);
    await using a = await Engine.start({ redis: server.url });
    const name = unique();
    await admin.script('FLUSH');
    const lock = await a.acquire(name);
    await admin.script('FLUSH');
    await lock.renew();
    await admin.script('FLUSH');
    await lock.release();
    await a.acquire(name, { wait: 0 });
  });

  it('that drops the subscriptions of waiters still hands the lock on', async () => {
    await using server = await startRedis();
    await using other = connectTo(server.url);
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const name = unique();
    const held = await a.acquire(name);
    const { lock } = await b.queue(name);
    await other.client('KILL', 'TYPE', 'PUBSUB');
    await held.release();
    await (await lock).release();
  });

  it('that does not allow the scripts is a configuration error that names the missing permission', async () => {
    await using server = await startRedis({ acl: 'user default on nopass ~* &* +@all -evalsha -eval' });
    const a = new Engine({ redis: server.url });
    const reason = await a.client
      .start()
      .then(() => a.acquire(unique()))
      .catch((error: unknown) => error);
    expect(reason).toMatchObject({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(/NOPERM/) });
    await a.client.shutdown(0);
  });

  it('that has another password is a configuration error at the start, which does not show the password', async () => {
    await using server = await startRedis({ acl: 'user default on >secret ~* &* +@all' });
    const a = new Engine({ redis: `redis://:wrong-pass@127.0.0.1:${server.port}` });
    const reason = await a.client.start().catch((error: unknown) => error);
    expect(reason).toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(JSON.stringify([(reason as Error).message, ...a.log.lines])).not.toMatch(/wrong-pass/);
    await a.client.shutdown(0);
  });
});
