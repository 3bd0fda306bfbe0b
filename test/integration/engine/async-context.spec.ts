import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import {
  type Lock,
  LockClient,
  lockDefaults,
  readTicket,
  resolveAdoption,
  resolveOptions,
} from 'nestjs-redis-lock/backend';
import {
  ClusterBackend,
  clusterKeySpace,
  keySpace,
  QuorumBackend,
  RedisBackend,
  slotOfKey,
} from '../../support/backends.js';
import { ClusterNode } from '../../../lib/backends/redis/cluster/cluster-node.js';
import type { CommandConnection } from '../../../lib/backends/redis/command-connection.js';
import { createConnection, endConnection, openConnection } from '../../../lib/backends/redis/redis-connection.js';
import { ReplicaConfirmation } from '../../../lib/backends/redis/replica-confirmation.js';
import { ClusterGroup } from '../../support/cluster-group.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { type RedisServer, sharedRedisUrl, startRedis } from '../../support/redis-server.js';
import { Requests } from '../../support/requests.js';
import { connectTo, Engine, unique, until } from './engine.js';
import { serverOfDescribe } from './server-of-describe.js';

const redis = sharedRedisUrl();
const renewed = { lease: '900ms', renew: true } as const;

/** Renewals that got a reply. */
const renewals = (engine: Engine): number => engine.backend.renewals.length;

const ofRequests = (requests: Requests): string[] => requests.traced.filter((command) => command.includes(' in '));

describe('work that outlives its request', () => {
  it('runs outside of it: renewals of its lock', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const lock = await requests.run('first', () => engine.acquire(unique(), renewed));
    const before = renewals(engine);
    await until(() => renewals(engine) >= before + 3);
    expect(lock.isHeld).toBe(true);
    await lock.release();
    expect([...requests.late]).toEqual([]);
    expect(requests.traced).toContain('evalsha');
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it: renewals of the lock that it adopted', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const ticket = await (await engine.acquire(unique(), renewed)).export();
    const options = resolveAdoption(renewed, lockDefaults);
    const lock = await requests.run('first', () => engine.client.adopt(readTicket(ticket), options));
    const before = renewals(engine);
    await until(() => renewals(engine) >= before + 3);
    await lock.release();
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it when the connection breaks and is made again', async () => {
    await using server = await startRedis();
    await using admin = connectTo(server.url);
    using requests = new Requests();
    await using engine = await Engine.start({ redis: server.url, commandTimeout: 200 });
    await admin.call('CLIENT', 'PAUSE', '600', 'ALL');
    const call = requests.run('unlucky', () => engine.acquire(unique(), { wait: '100ms' }));
    await expect(call).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await until(() => engine.backend.recoveries > 1);
    await (await engine.acquire(unique(), renewed)).release();
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it.each([
    ['timed out', { wait: '150ms' }, 'LOCK_WAIT_TIMEOUT'],
    ['tried once', { wait: 0 }, 'LOCK_CONTENDED'],
    ['was aborted', { signal: true }, 'AbortError'],
  ] as const)('runs outside of it when it %s, and another request waits in its place', async (_how, options, code) => {
    using requests = new Requests();
    await using holder = await Engine.start({ redis });
    await using engine = await Engine.start({ redis });
    const name = unique();
    const held = await holder.acquire(name, renewed);
    const abort = new AbortController();
    const first = requests.run('first', async () => {
      const call = engine.acquire(name, 'signal' in options ? { signal: abort.signal } : options);
      await call.catch((error: Error & { code: string }) => expect([error.code, error.name]).toContain(code));
    });
    const second = requests.run('second', async () => {
      const lock = await engine.acquire(name, renewed);
      return [lock, requests.current] as const;
    });
    await sleep(20);
    requests.run('aborting', async () => abort.abort()).catch(() => undefined);
    await first;
    await held.release();
    const [lock, current] = await second;
    expect(current).toBe('second');
    const before = renewals(engine);
    await until(() => renewals(engine) >= before + 2);
    await lock.release();
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it when it handed its lock on inside the process; the next request runs in its own context', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const name = unique();
    const seen: unknown[] = [];
    const leave = new Map<string, () => void>();
    const work = (as: string): Promise<void> =>
      requests.run(as, async () => {
        const lock: Lock = await engine.acquire(name, renewed);
        seen.push([as, requests.current]);
        await new Promise<void>((resolve) => leave.set(as, resolve));
        seen.push([as, requests.current]);
        await lock.release();
        seen.push([as, requests.current]);
      });
    const all = ['a', 'b', 'c'].map(work);
    for (const as of ['a', 'b', 'c']) {
      await until(() => leave.has(as));
      // Long enough to be renewed.
      await sleep(250);
      leave.get(as)!();
    }
    await Promise.all(all);
    expect(seen).toHaveLength(9);
    for (const [as, current] of seen as string[][]) expect(current).toBe(as);
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it after renew, inspect, forceRelease, export and adopt', async () => {
    using requests = new Requests();
    await using holder = await Engine.start({ redis });
    await using engine = await Engine.start({ redis });
    const [name, other] = [unique(), unique()];
    const taken = await holder.acquire(name, renewed);
    const lock = await requests.run('operator', async () => {
      await engine.operators.views.inspect(name);
      await engine.operators.views.forceRelease(name);
      for await (const _name of engine.operators.views.list({ startsWith: name }))
        expect(requests.current).toBe('operator');
      const first = await engine.acquire([name, other], renewed);
      await first.renew('400ms');
      await first.export();
      return engine.acquire(unique(), renewed);
    });
    await until(() => taken.signal.aborted);
    const before = renewals(engine);
    await until(() => renewals(engine) >= before + 2);
    await lock.release();
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it when it closed the client', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const lock = await engine.acquire(unique(), renewed);
    await requests.run('last', () => engine.client.shutdown(0));
    await expect(lock.release()).resolves.toBeUndefined();
    await sleep(200);
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });
});

describe('a pending reply of a server', () => {
  let server: RedisServer;
  let admin: Redis;
  serverOfDescribe((there) => ({ server, admin } = there));

  /** Longer than a request lasts, shorter than `commandTimeout`. */
  const standStill = (): Promise<unknown> => admin.call('CLIENT', 'PAUSE', '300', 'ALL');
  const answered = async (engine: Engine): Promise<void> => {
    await engine.acquire(unique());
  };

  it('to the renewal after a hand-off is handled outside of the request that handed its lock on', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis: server.url });
    const name = unique();
    const terms = { lease: '3s', renew: true } as const;
    // The second one is granted with tokens in hand for the third.
    const [first, second, third] = [1, 2, 3].map(() => engine.acquire(name, terms));
    await (await first!).release();
    const held = await second!;
    await standStill();
    await requests.run('first', () => held.release());
    const lock = await third!;
    await answered(engine);
    expect(lock.isHeld).toBe(true);
    expect([...requests.late]).toEqual([]);
  });

  it('to a waiter that was aborted is handled outside of the request that aborted it', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis: server.url });
    const abort = new AbortController();
    await standStill();
    const waiting = engine.acquire(unique(), { signal: abort.signal });
    await requests.run('aborting', async () => abort.abort());
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await answered(engine);
    expect([...requests.late]).toEqual([]);
  });

  it('to the loading of forgotten scripts is handled outside of the request that needs them', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis: server.url });
    await admin.script('FLUSH');
    await requests.run('operator', () => engine.operators.views.inspect(unique()));
    expect(requests.traced).toContain('script');
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it('to a batch is handled outside of the request that began it', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis: server.url });
    await standStill();
    const released = await requests.run('first', async () => ({
      reply: engine.backend.release({ name: unique(), id: 'a:1' }),
    }));
    await expect(released.reply).resolves.toBe('absent');
    expect([...requests.late].filter((origin) => !origin.includes('WatchedBackend'))).toEqual([]);
  });
});

describe('user code', () => {
  it('that listens to a signal runs outside of the request that detected the loss', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const lock = await engine.acquire(unique(), { lease: '100ms' });
    const told: unknown[] = [];
    lock.signal.addEventListener('abort', () => told.push(requests.current ?? 'no request'));
    await requests.run('another', async () => {
      // No timer can detect it before.
      const end = performance.now() + 150;
      while (performance.now() < end);
      expect(lock.isHeld).toBe(false);
    });
    expect(told).toEqual(['no request']);
  });

  it('that subscribes to losses runs outside of the request whose release finds the lock revoked', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const told: string[] = [];
    const listener = (_: unknown, channel: string | symbol): void => {
      told.push(`${String(channel)} ${requests.current ?? 'no request'}`);
    };
    const channels = ['nestjs-redis-lock:lost', 'tracing:nestjs-redis-lock:hold:error'];
    for (const channel of channels) subscribe(channel, listener);
    try {
      const name = unique();
      await requests.run('first', async () => {
        const lock = await engine.acquire(name, { lease: '60s' });
        await using admin = connectTo(redis);
        await admin.del(`lock:{${name}}`);
        await lock.release();
      });
    } finally {
      for (const channel of channels) unsubscribe(channel, listener);
    }
    expect(told).toEqual(channels.map((channel) => `${channel} no request`));
  });

  it('that subscribes to a channel runs in the request of the lock in the message', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ redis });
    const told: unknown[] = [];
    const listener = (message: unknown, channel: string | symbol): void => {
      const { key } = message as { key: string };
      if (key.startsWith('told')) told.push(`${String(channel).split(':')[1]} ${requests.current}`);
    };
    const channels = ['acquired', 'released', 'exported', 'adopted'].map((name) => `nestjs-redis-lock:${name}`);
    for (const channel of channels) subscribe(channel, listener);
    try {
      const name = unique('told');
      const work = (as: string): Promise<void> =>
        requests.run(as, async () => {
          await using _lock = await engine.acquire(name, renewed);
          await sleep(10);
        });
      await Promise.all(['a', 'b', 'c'].map(work));
    } finally {
      for (const channel of channels) unsubscribe(channel, listener);
    }
    expect(told).toEqual(['a', 'b', 'c'].flatMap((as) => [`acquired ${as}`, `released ${as}`]));
  });
});

describe('work that outlives a request on a cluster', () => {
  let group: ClusterGroup;
  beforeAll(async () => {
    group = await ClusterGroup.start();
  });
  afterAll(() => group.stop());

  it('runs outside of it: subscriptions, renewals, and a slot that moves', async () => {
    using requests = new Requests();
    await using engine = await Engine.start({ cluster: group.connection, poll: 200 });
    await using other = await Engine.start({ cluster: group.connection });
    const name = unique();
    const held = await other.acquire(name, renewed);
    const lock = requests.run('first', () => engine.acquire(name, renewed));
    await until(() => engine.backend.waiting(name) > 0);
    await held.release();
    const mine = await lock;
    const before = renewals(engine);
    await until(() => renewals(engine) >= before + 3);
    await mine.release();
    const slot = slotOfKey(keySpace('lock:').forLock(name)[0]);
    const owner = await group.ownerOf(slot);
    await group.move(
      slot,
      group.masters.find((master) => master !== owner)!,
    );
    await requests.run('operator', async () => {
      // The node that had the slot replies 'MOVED'.
      await engine.operators.views.inspect(name);
      for await (const _name of engine.operators.views.list({ startsWith: name }));
    });
    // Longer than the map waits before it asks the nodes again.
    await sleep(1_200);
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it when it is the first to load the slot map', async () => {
    using requests = new Requests();
    const backend = new ClusterBackend({ cluster: group.connection, log: new KeptLog() });
    await requests.run('operator', async () => {
      for await (const _names of backend.list(unique()));
    });
    await backend.close();
    expect([...requests.late]).toEqual([]);
    expect(requests.traced).toContain('cluster');
    expect(ofRequests(requests)).toEqual([]);
  });

  it('runs outside of it when a node redirects it to a new node', async () => {
    using requests = new Requests();
    const { host, port } = group.masters[0]!;
    const keys = clusterKeySpace('lock:');
    const options = { redis: { host, port }, log: new KeptLog() };
    const node = new ClusterNode(`${host}:${port}`, 0, options, keys, () => undefined);
    await requests.run('first', async () => {
      node.start(unique(), { granted: () => undefined, recovered: () => undefined });
    });
    await node.started;
    await node.backend.close();
    expect([...requests.late]).toEqual([]);
    expect(requests.traced).toContain('connect');
    expect(ofRequests(requests)).toEqual([]);
  });
});

describe('work that outlives a request on a quorum', () => {
  let servers: RedisServer[];
  beforeAll(async () => {
    servers = await Promise.all([1, 2, 3].map(() => startRedis()));
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  it('runs outside of it: votes, renewals, and an unavailable node', async () => {
    using requests = new Requests();
    const log = new KeptLog();
    const node = { uptime: false };
    const client = (): LockClient => {
      const nodes = servers.map(
        ({ url }) => new RedisBackend({ redis: url, commandTimeout: 300, poll: 300, node, log }),
      );
      const settings = { defaults: lockDefaults, maxWaiters: 100 };
      return new LockClient(new QuorumBackend({ nodes, log }), settings, log);
    };
    const [one, other] = [client(), client()];
    const name = unique();
    const options = resolveOptions({ lease: '600ms', renew: true, wait: '5s' }, lockDefaults);
    await other.start();
    const held = await other.acquire(name, options);
    await one.start();
    const asked = requests.run('first', () => one.acquire(name, options));
    await sleep(100);
    await held.release();
    const lock = await asked;
    await servers[0]!.kill();
    await sleep(1_000);
    expect(lock.isHeld).toBe(true);
    await lock.release();
    await Promise.all([one.shutdown(0), other.shutdown(0)]);
    expect([...requests.late]).toEqual([]);
    expect(ofRequests(requests)).toEqual([]);
  });
});

describe('a connection of our own', () => {
  it('is made outside of the request that needs it first', async () => {
    using requests = new Requests();
    const connection = createConnection(redis, 1_000);
    await requests.run('first', () => openConnection(connection));
    expect(await connection.ping()).toBe('PONG');
    await endConnection(connection);
    expect([...requests.late]).toEqual([]);
    expect(requests.traced).toContain('connect');
    expect(ofRequests(requests)).toEqual([]);
  });
});

describe('the WAIT for replicas', () => {
  it('is sent outside of the first request that needs it, as other requests share it', async () => {
    using requests = new Requests();
    const asked: unknown[] = [];
    const copies = async (count: number): Promise<number> => {
      asked.push(requests.current);
      return count;
    };
    const confirmation = new ReplicaConfirmation({ copies } as unknown as CommandConnection, { count: 1, timeout: 50 });
    await requests.run('first', () => confirmation.confirm());
    expect(asked).toEqual([undefined]);
  });
});
