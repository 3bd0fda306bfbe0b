import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type LockClientOptions, type RedisLockClient } from 'nestjs-redis-lock/client';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { SentinelGroup } from '../../support/sentinel-group.js';
import { withPoll } from '../../support/backends.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from './observations.js';
import { Peer, type PeerProgram, watchdog } from './peer.js';

const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };

/** This library and Redisson while something fails. Each test has servers and processes of its own. */
export function faults(open: () => Promise<PeerProgram>): void {
  const ends: Array<() => unknown> = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  const started = async (args: string[] = []): Promise<RedisServer> => {
    const server = await startRedis({ args });
    ends.push(() => server.stop());
    return server;
  };
  const javaAt = async (address: string, mode?: string): Promise<Peer> => {
    const peer = await Peer.start(await open(), address, mode);
    ends.push(() => peer.kill());
    return peer;
  };
  const clientAt = async (
    redis: LockClientOptions['redis'],
    options: object = {},
    poll = 5000,
  ): Promise<RedisLockClient> => {
    const client = createLockClient(
      withPoll(poll, { redis, redisson: true, lease: watchdog, log: silent, ...options }),
    );
    ends.push(() => client.close());
    await client.connect();
    return client;
  };
  const adminOf = (url: string): Redis => {
    const redis = new Redis(url);
    redis.on('error', () => undefined);
    ends.push(() => redis.disconnect());
    return redis;
  };
  const unique = (): string => `product:${randomUUID()}`;
  const listened = (redis: Redis, name: string): Promise<void> =>
    until(async () => Number((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1]) > 0);
  const renewed = (lock: Awaited<ReturnType<RedisLockClient['acquire']>>): Promise<boolean> =>
    lock.renew().then(
      () => true,
      () => false,
    );

  // Row 10
  describe('a Redis that is restarted', () => {
    it('empty: a waiter here gets the lock of Java at once, and the unlock of Java is refused', async () => {
      const server = await started();
      const [java, client, redis] = [await javaAt(server.url), await clientAt(server.url), adminOf(server.url)];
      const name = unique();
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(redis, name);
      await server.restart({ empty: true });
      const lock = await waiting;
      expect(await java.insist('a', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
      await lock.release();
    }, 40_000);

    it('empty: the signal of a holder here aborts, and a waiter of Java has the lock at the end of the lease that it knew', async () => {
      const server = await started();
      const [java, client, redis] = [await javaAt(server.url), await clientAt(server.url), adminOf(server.url)];
      const name = unique();
      const lock = await client.acquire(name);
      const waiting = java.insist('a', 'lock', 'plain', name);
      await listened(redis, name);
      await server.restart({ empty: true });
      if (!lock.signal.aborted) await once(lock.signal, 'abort');
      expect(await waiting).toBe('held');
      await lock.release();
      expect(await redis.hkeys(name)).toEqual([await java.run('a', 'field', 'plain', name)]);
    }, 40_000);

    it('with its journal: each holder keeps its lock', async () => {
      const server = await started(['--appendonly', 'yes', '--appendfsync', 'always']);
      const [java, client] = [await javaAt(server.url), await clientAt(server.url)];
      const [javas, ours] = [unique(), unique()];
      await java.run('a', 'lock', 'plain', javas, 20_000);
      const lock = await client.acquire(ours, { lease: 20_000 });
      await server.restart();
      await until(() => renewed(lock));
      expect(lock.isHeld).toBe(true);
      await expect(client.acquire(javas, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await lock.release();
    }, 40_000);

    it('with its journal: waiters on both sides go on waiting, and a message wakes them after it', async () => {
      const server = await started(['--appendonly', 'yes', '--appendfsync', 'always']);
      const redis = adminOf(server.url);
      // Longer than any test waits.
      const [java, client] = [await javaAt(server.url), await clientAt(server.url, { lease: '1h' }, 600_000)];
      const [javas, ours] = [unique(), unique()];
      await java.run('a', 'lock', 'plain', javas, 3_600_000);
      const lock = await client.acquire(ours);
      const order: string[] = [];
      const waiting = [
        client.acquire(javas, { wait: '1m' }).then((next) => (order.push('ours'), next.release())),
        java.insist('b', 'lock', 'plain', ours).then((answer) => order.push(answer)),
      ];
      const bothListen = (): Promise<unknown> => Promise.all([listened(redis, javas), listened(redis, ours)]);
      await bothListen();
      await server.restart();
      await bothListen();
      expect(order).toEqual([]);
      await java.insist('a', 'unlock', 'plain', javas);
      await waiting[0];
      expect(order).toEqual(['ours']);
      await lock.release();
      await waiting[1];
      expect(order).toEqual(['ours', 'held']);
    }, 60_000);
  });

  // Row 11
  describe('a lost answer', () => {
    /** Java at a server, and a client here whose replies can be lost. */
    const behindProxy = async () => {
      const server = await started();
      const proxy = await TcpProxy.to(server.port);
      ends.push(() => proxy[Symbol.asyncDispose]());
      const client = await clientAt(proxy.url, { commandTimeout: 300 });
      return { proxy, client, java: await javaAt(server.url), redis: adminOf(server.url) };
    };

    it('of a request leaves no lock behind: Java has it long before the lease would end', async () => {
      const { proxy, java, client, redis } = await behindProxy();
      const name = unique();
      proxy.dropReplies();
      await expect(client.acquire(name, { wait: 0, lease: '1h' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(await redis.hvals(name)).toEqual(['1']);
      const waiting = java.run('a', 'lock', 'plain', name);
      await proxy.heal();
      expect(await waiting).toBe('held');
    }, 40_000);

    it('of a renewal counts nothing, and the lock is held on: Java has it after the release', async () => {
      const { proxy, java, client, redis } = await behindProxy();
      const name = unique();
      const lock = await client.acquire(name, { lease: '1h', renew: false });
      await redis.pexpire(name, 60_000);
      const waiting = java.run('a', 'lock', 'plain', name);
      await listened(redis, name);
      proxy.dropReplies();
      await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(await redis.pttl(name)).toBeGreaterThan(60_000);
      await proxy.heal();
      await until(() => renewed(lock));
      expect(await redis.hvals(name)).toEqual(['1']);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      expect(await waiting).toBe('held');
    }, 40_000);

    it('of a release does not keep the lock: Java has it, and its hold is not released by the repetition', async () => {
      const { proxy, java, client, redis } = await behindProxy();
      const name = unique();
      const lock = await client.acquire(name, { lease: '1h', renew: false });
      const waiting = java.run('a', 'lock', 'plain', name);
      await listened(redis, name);
      proxy.dropReplies();
      const released = lock.release();
      expect(await waiting).toBe('held');
      await proxy.heal();
      await released;
      // The repeated release has been executed when this client's next lock is granted.
      await (await client.acquire(unique(), { wait: '10s' })).release();
      expect(await java.run('a', 'held', 'plain', name)).toBe('true');
    }, 40_000);
  });

  it('a lock that no replica confirms (replicas) is released and rejected: Java has it; one that is confirmed is held', async () => {
    const server = await started(['--repl-diskless-sync-delay', '0']);
    const replica = await started(['--replicaof', server.host, String(server.port)]);
    const [java, redis] = [await javaAt(server.url), adminOf(server.url)];
    const client = await clientAt(server.url, { replicas: { count: 1, timeout: 600 }, commandTimeout: '2s' });
    const name = unique();
    const caughtUp = (): Promise<void> =>
      until(async () => (await redis.set('written', 'now', 'PX', 1000), (await redis.wait(1, 1000)) === 1));
    await caughtUp();
    replica.pause();
    await expect(client.acquire(name, { wait: '15s', lease: '1h' })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      uncertain: false,
      message: expect.stringContaining('0 of 1 replicas confirmed'),
    });
    expect(await java.run('a', 'try', 'plain', name)).toBe('held');
    await java.run('a', 'unlock', 'plain', name);
    replica.resume();
    await caughtUp();
    await using lock = await client.acquire(name, { lease: '1h' });
    await lock.renew();
    expect(await java.run('a', 'try', 'plain', name)).toBe('no');
  }, 40_000);

  // Row 18
  it('behind Sentinel both exclude and wake each other, before and after a failover', async () => {
    const group = await SentinelGroup.start({ replicas: 1 });
    ends.push(() => group.stop());
    const addresses = group.sentinels.map(({ host, port }) => `redis://${host}:${port}`);
    const java = await javaAt([group.connection.name, ...addresses].join(), 'sentinel');
    const client = await clientAt(group.connection, {}, 1000);
    const both = async (): Promise<void> => {
      const name = unique();
      const redis = adminOf((await group.master()).url);
      expect(await java.insist('a', 'lock', 'plain', name)).toBe('held');
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(redis, name);
      expect(await java.run('a', 'unlock', 'plain', name)).toBe('ok');
      const lock = await waiting;
      expect(await java.run('a', 'try', 'plain', name)).toBe('no');
      const next = java.insist('a', 'lock', 'plain', name);
      await lock.release();
      expect(await next).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
    };
    await both();
    await group.failover();
    // The old master goes on until the sentinels have told it. Each side finds the new one in its own time: its lock is there then.
    const redis = adminOf((await group.master()).url);
    const hasArrived = async (take: (name: string) => Promise<unknown>): Promise<boolean> => {
      const name = unique();
      await take(name);
      return (await redis.exists(name)) === 1;
    };
    await until(() => hasArrived((name) => java.run('a', 'try', 'plain', name)));
    await until(() => hasArrived((name) => client.tryAcquire(name).catch(() => undefined)));
    await both();
  }, 60_000);
}
