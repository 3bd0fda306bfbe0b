import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RedisBackend } from '../../../lib/backends/redis/index.js';
import { KeptLog } from '../../support/kept-log.js';
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

  it('may be set up dangerously: the own connections are not', async () => {
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

  it('of a Redis Cluster is refused here', () => {
    const cluster = { isCluster: true, duplicate: () => undefined, options: {} } as unknown as Redis;
    expect(() => new RedisBackend({ redis: cluster, log: new KeptLog() })).toThrow(
      expect.objectContaining({ code: 'LOCK_CONFIGURATION' }),
    );
  });
});

describe('the options of a Redis backend', () => {
  it.each([
    [{ commandTimeout: 0 }, 'commandTimeout'],
    [{ commandTimeout: Number.NaN }, 'commandTimeout'],
    [{ poll: 99 }, 'poll'],
    [{ poll: Number.POSITIVE_INFINITY }, 'poll'],
  ])('%j are refused', (options, option) => {
    expect(() => new RedisBackend({ ...options, redis: url, log: new KeptLog() })).toThrow(
      expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringContaining(option) }),
    );
  });

  it('say the same claim window as the scripts', () => {
    const path = join(import.meta.dirname, '../../../lib/backends/redis/scripts/includes/serve.lua');
    const [, window] = /^local window = (\d+)$/m.exec(readFileSync(path, 'utf8'))!;
    expect(new RedisBackend({ redis: url, log: new KeptLog() }).claimWindow).toBe(Number(window));
  });
});

describe('a Redis that goes away', () => {
  it('and is away at the start: start() rejects, locks are unavailable, and work by themselves once it is there', async () => {
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

  it('lets close() settle though it is away', async () => {
    const a = new Engine({ redis: `redis://127.0.0.1:${await freePort()}` });
    await expect(a.client.start()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await a.client.shutdown(0);
  });

  it('and comes back empty: the holder learns of its loss, the waiter gets the lock with a larger token', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const name = unique();
    const lost = await a.acquire(name, { lease: 3_000, renew: true });
    const { lock } = await b.queue(name);
    await server.restart({ empty: true });
    const next = await lock;
    expect(next.fencingToken).toBeGreaterThan(lost.fencingToken);
    await until(() => lost.signal.aborted);
    expect(lost.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
  });

  it('while nobody uses it is not noticed by who comes later', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url });
    await (await a.acquire(unique())).release();
    await server.restart();
    await until(() => a.log.lines.some((line) => line.startsWith('log')));
    await (await a.acquire(unique())).release();
    expect(a.log.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);
  });

  it('for longer than a lease: the holder is told at its end, without Redis', async () => {
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

describe('a Redis that answers late or never', () => {
  it('is unavailable within the command time-out, and what it finds in the given-up connection takes no lock', async () => {
    await using server = await startRedis();
    await using a = await Engine.start({ redis: server.url, commandTimeout: 150 });
    const name = unique();
    server.pause();
    await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    // The question lies in a socket that the server will read after `notAfter`; its sender is gone and takes nothing back.
    await a.backend.close();
    await new Promise((resolve) => setTimeout(resolve, 500));
    server.resume();
    await using b = await Engine.start({ redis: server.url });
    await b.acquire(name, { wait: 0 });
  });

  it('and only loses the reply: the lock that was taken for nobody is given back', async () => {
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

  it('and loses the reply to a release: the lock is free, and its holder is told of no loss', async () => {
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

  it('gets a release that never reached it as soon as it can be reached again', async () => {
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
  let admin: Redis;
  beforeAll(() => {
    admin = connectTo(url);
  });
  afterAll(() => {
    admin.disconnect();
  });

  it('that forgot the scripts is taught them again, unnoticed', async () => {
    await using a = await Engine.start({ redis: url });
    const name = unique();
    await admin.script('FLUSH');
    const lock = await a.acquire(name);
    await admin.script('FLUSH');
    await lock.renew();
    await admin.script('FLUSH');
    await lock.release();
    await a.acquire(name, { wait: 0 });
  });

  it('that drops the subscriptions of waiters still hands the lock over', async () => {
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

  it('that does not allow the scripts is a configuration error with what is missing', async () => {
    await using server = await startRedis({ acl: 'user default on nopass ~* &* +@all -evalsha -eval' });
    const a = new Engine({ redis: server.url });
    const reason = await a.client
      .start()
      .then(() => a.acquire(unique()))
      .catch((error: unknown) => error);
    expect(reason).toMatchObject({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(/NOPERM/) });
    await a.client.shutdown(0);
  });

  it('that knows another password is a configuration error at the start, and the password is not told', async () => {
    await using server = await startRedis({ acl: 'user default on >secret ~* &* +@all' });
    const a = new Engine({ redis: `redis://:wrong-pass@127.0.0.1:${server.port}` });
    const reason = await a.client.start().catch((error: unknown) => error);
    expect(reason).toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(JSON.stringify([(reason as Error).message, ...a.log.lines])).not.toMatch(/wrong-pass/);
    await a.client.shutdown(0);
  });
});
