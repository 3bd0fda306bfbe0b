import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, type Redis } from 'ioredis';
import { ClusterBackend, clusterKeySpace, slotCount, tagOf } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import type { RedisServer } from '../../support/redis-server.js';
import { ClusterGroup } from '../../support/cluster-group.js';
import { clusterRules, documentedRules } from '../../support/documented-acl.js';
import { Engine, type EngineOptions, unique, until } from './engine.js';

const keys = clusterKeySpace('lock:');

/** What the scripts do inside a server: no request. */
const inside = new Set(
  'time get mget set del exists zadd zrem zrangebyscore zrevrangebyscore zscore hset hget hmget hdel pttl pexpire pubsub|numsub pubsub|shardnumsub'.split(
    ' ',
  ),
);
/** What the nodes send to each other, and the tests to them. */
const aside = new Set('info ping replconf psync config|resetstat client|list keys'.split(' '));

describe('locks on a cluster', () => {
  let group: ClusterGroup;
  let masters: Array<{ server: RedisServer; admin: Redis }>;

  beforeAll(async () => {
    group = await ClusterGroup.start();
    masters = group.masters.map((server) => ({ server, admin: group.admin(server) }));
  });
  afterAll(() => group.stop());

  const start = (options: Partial<EngineOptions> = {}): Promise<Engine> =>
    Engine.start({ cluster: group.connection, ...options });

  /** A name in a slot of one of the masters. */
  const nameAt = (master: number, what = 'name'): string => {
    const share = Math.ceil(slotCount / 3);
    return `${tagOf(master * share + Math.floor(Math.random() * (share - 2)))}}:${unique(what)}`;
  };

  const reset = (): Promise<unknown> =>
    Promise.all(group.servers.map((server) => group.admin(server).config('RESETSTAT')));

  /** Every command that the masters executed for clients since `reset`. */
  const requests = async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { admin } of masters) {
      const text = await admin.info('commandstats');
      for (const [, name, count] of text.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)) {
        if (!inside.has(name!) && !aside.has(name!)) counts[name!] = (counts[name!] ?? 0) + Number(count);
      }
    }
    return counts;
  };

  /** Connections of clients, those of the tests not counted. */
  const connections = async (type: 'NORMAL' | 'PUBSUB'): Promise<number[]> =>
    Promise.all(
      masters.map(async ({ admin }) => {
        const list = String(await admin.call('CLIENT', 'LIST', 'TYPE', type)).trim();
        return list === '' ? 0 : list.split('\n').filter((line) => !line.includes('cmd=client')).length;
      }),
    );

  it('report whether each master is available; before the first reply, the addresses of the options', async () => {
    const addresses = (servers: readonly RedisServer[]): string[] => servers.map(({ host, port }) => `${host}:${port}`);
    const { servers, masters } = group;
    const backend = new ClusterBackend({ cluster: group.connection, log: new KeptLog() });
    expect(backend.availability()).toEqual(addresses(servers).map((address) => [address, false]));
    await backend.start('client', { granted: () => undefined, recovered: () => undefined });
    expect(new Map(backend.availability())).toEqual(new Map(addresses(masters).map((address) => [address, true])));
    await backend.close();
    expect(new Map(backend.availability())).toEqual(new Map(addresses(masters).map((address) => [address, false])));
  });

  it('cost exactly 2 requests without contention, one connection to each master, and no subscription', async () => {
    await using a = await start();
    const before = await connections('NORMAL');
    await reset();
    for (let times = 0; times < 30; times++) await (await a.acquire(unique())).release();
    expect(await requests()).toEqual({ evalsha: 60 });
    expect(await connections('NORMAL')).toEqual(before);
    expect(before).toEqual([1, 1, 1]);
    expect(await connections('PUBSUB')).toEqual([0, 0, 0]);
  });

  it('go from process to process by 1 acquire, 1 release and 1 sharded message', async () => {
    await using a = await start();
    await using b = await start();
    const name = unique();
    let held = await a.acquire(name);
    for (const next of [b, a]) {
      const { lock } = await next.queue(name);
      await held.release();
      held = await lock;
    }
    await reset();
    const rounds = 10;
    for (let round = 0; round < rounds; round++) {
      const { lock } = await (round % 2 === 0 ? b : a).queue(name);
      await held.release();
      held = await lock;
    }
    expect(await requests()).toEqual({ evalsha: 2 * rounds, spublish: rounds });
    // One channel for each client, on the node that has the slot.
    const listening = await connections('PUBSUB');
    expect(listening.sort((x, y) => x - y)).toEqual([0, 0, 2]);
    await held.release();
  });

  it('of several nodes are requested together, 1 request for each slot, and granted all or none', async () => {
    await using a = await start();
    await using b = await start();
    const names = [0, 0, 1, 1, 2, 2].map((master) => nameAt(master));
    await reset();
    const all = await a.acquire(names);
    expect(await requests()).toEqual({ evalsha: new Set(names.map(keys.slotOf)).size });
    expect([...all.fencingTokens.keys()]).toEqual([...names].sort());
    await expect(b.acquire(names[3]!, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await all.release();
    const held = await b.acquire(names[3]!);
    await expect(a.acquire(names, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: names[3] });
    await held.release();
    await (await b.acquire(names, { wait: 0 })).release();
  });

  it('share a command if they share a slot', async () => {
    await using a = await start();
    const slot = tagOf(4711);
    const names = Array.from({ length: 5 }, (_, index) => `${slot}}:${index}`);
    await reset();
    await (await a.acquire(names)).release();
    expect(await requests()).toEqual({ evalsha: 2 });
  });

  it('of one turn of the event loop are written to a node in one packet', async () => {
    await using a = await start();
    const names = Array.from({ length: 50 }, () => nameAt(1));
    const inputs = async (): Promise<number> =>
      Number(/total_reads_processed:(\d+)/.exec(await masters[1]!.admin.info('stats'))![1]);
    await (await a.acquire(nameAt(1))).release();
    const before = await inputs();
    const locks = await Promise.all(names.map((name) => a.acquire(name)));
    // This command itself, and what the nodes send to each other.
    expect((await inputs()) - before).toBeLessThan(10);
    for (const lock of locks) await lock.renew();
    await Promise.all(locks.map((lock) => lock.release()));
  });

  it('leave only the registers of their slots, which expire', async () => {
    await using a = await start({ keyPrefix: 'flat:' });
    const names = Array.from({ length: 60 }, () => unique());
    for (const name of names) await (await a.acquire(name)).release();
    const space = clusterKeySpace('flat:');
    const expected = new Set(names.map((name) => space.forScript([{ name }])[0]!));
    const left = (
      await Promise.all(
        masters.map(async ({ admin }) => {
          const found = await admin.keys('flat:*');
          for (const key of found) expect(await admin.pttl(key)).toBeGreaterThan(0);
          return found;
        }),
      )
    ).flat();
    expect(left).toEqual(expect.arrayContaining([...expected]));
    // Each client has run its rehearsal once on each node.
    expect(left.filter((key) => !expected.has(key)).length).toBeLessThanOrEqual(3);
    expect(left.every((key) => key.startsWith('flat:token-register:{'))).toBe(true);
  });

  it('are subscribed to only while a caller waits: channels and connection end some polls after the last waiter', async () => {
    await using a = await start();
    await using b = await start({ poll: 100, commandTimeout: 200 });
    const names = [nameAt(0), nameAt(0)];
    const channels = async (): Promise<number> => (await masters[0]!.admin.pubsub('SHARDCHANNELS')).length;
    const held = await Promise.all(names.map((name) => a.acquire(name)));
    const waiting = [await b.queue(names[0]!), await b.queue(names[1]!)];
    await until(async () => (await channels()) === 2);
    await held[0]!.release();
    await (await waiting[0]!.lock).release();
    await until(async () => (await channels()) === 1);
    expect(await connections('PUBSUB')).toEqual([1, 0, 0]);
    await held[1]!.release();
    await (await waiting[1]!.lock).release();
    await until(async () => (await connections('PUBSUB'))[0] === 0);
    // And again, when a caller waits again.
    const again = await a.acquire(names[0]!);
    const { lock } = await b.queue(names[0]!);
    await until(async () => (await channels()) === 1);
    await again.release();
    await (await lock).release();
  });

  it('are handed on by plain messages on servers without sharded ones, as before Redis 7', async () => {
    for (const { server } of masters) {
      const rules = ['~*', '&*', '+@all', '-ssubscribe', '-spublish', '-pubsub|shardnumsub'];
      await group.admin(server).acl('SETUSER', 'old', 'on', '>old', ...rules);
    }
    const cluster = { ...group.connection, options: { redisOptions: { username: 'old', password: 'old' } } };
    await using a = await start({ cluster });
    await using b = await start({ cluster });
    const name = unique();
    const held = await a.acquire(name);
    const { lock } = await b.queue(name);
    await reset();
    await held.release();
    await (await lock).release();
    expect(await requests()).toEqual({ evalsha: 2, publish: 1 });
    expect(b.backend.grants).toHaveLength(1);
    expect([...a.log.lines, ...b.log.lines]).toEqual([]);
  });

  it('work with the smallest ACL for clusters, of which every permission is needed', async () => {
    const rules = [...documentedRules(), ...clusterRules()];
    for (const server of group.servers) {
      await group.admin(server).acl('SETUSER', 'locks', 'on', '>secret', 'resetkeys', 'resetchannels', ...rules);
      await group.admin(server).acl('LOG', 'RESET');
    }
    await reset();
    const cluster = { ...group.connection, options: { redisOptions: { username: 'locks', password: 'secret' } } };
    await using a = await start({ cluster });
    await using b = await start({ cluster, poll: 100, commandTimeout: 500 });
    const name = unique();
    const held = await a.acquire(name);
    const { lock } = await b.queue(name);
    await held.renew();
    await held.release();
    await (await lock).release();
    await until(async () => (await requests())['sunsubscribe'] === 1);
    for (const { admin } of masters) expect(await admin.acl('LOG')).toEqual([]);
    // Of the replicas too: a client asks all nodes for the map of slots, and takes the first answer.
    const stats = await Promise.all(group.servers.map((server) => group.admin(server).info('commandstats')));
    for (const rule of clusterRules()) {
      const command = rule.slice(1);
      expect([command, stats.join('\n').includes(`cmdstat_${command}:`)]).toEqual([command, true]);
    }
    expect([...a.log.lines, ...b.log.lines]).toEqual([]);
  });

  it('reject the start when a node lacks a permission, and name that node', async () => {
    const rules = [...documentedRules(), ...clusterRules()];
    const [, second] = group.masters;
    for (const server of group.servers) {
      const lacking = rules.filter((rule) => server !== second || rule !== '+spublish');
      await group.admin(server).acl('SETUSER', 'lacking', 'on', '>x', 'resetkeys', 'resetchannels', ...lacking);
    }
    const options = { redisOptions: { username: 'lacking', password: 'x' } };
    await using a = new Engine({ cluster: { ...group.connection, options } });
    await expect(a.client.start()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining(`127.0.0.1:${second!.port}`),
    });
    const wrong = { ...group.connection, options: { redisOptions: { username: 'lacking', password: 'wrong' } } };
    await using b = new Engine({ cluster: wrong });
    await expect(b.client.start()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });

  it('use only the options of a client of ioredis, including its prefix', async () => {
    const client = new Cluster([{ host: '127.0.0.1', port: group.replicas[0]!.port }], {
      lazyConnect: true,
      scaleReads: 'slave',
      keyPrefix: 'own:',
      natMap: (address) => {
        mapped.add(address);
        return null;
      },
    });
    const mapped = new Set<string>();
    await using a = await start({ cluster: client });
    await (await a.acquire('x')).release();
    expect(client.status).toBe('wait');
    expect(mapped).toContain(`127.0.0.1:${group.masters[0]!.port}`);
    const space = clusterKeySpace('own:lock:');
    const owner = await group.ownerOf(space.slotOf('x'));
    expect(await group.admin(owner).exists(space.forScript([{ name: 'x' }])[0]!)).toBe(1);
  });

  it('continue after the servers have forgotten the scripts', async () => {
    await using a = await start();
    const name = unique();
    const held = await a.acquire(name);
    for (const { admin } of masters) await admin.script('FLUSH');
    await held.renew();
    for (const { admin } of masters) await admin.script('FLUSH');
    await held.release();
    for (const { admin } of masters) await admin.script('FLUSH');
    await (await a.acquire(name, { wait: 0 })).release();
  });

  it('close all of their connections with the client', async () => {
    const a = await start();
    const b = await start();
    const names = [0, 1, 2].map((master) => nameAt(master));
    const held = await a.acquire(names);
    const waiting = await Promise.all(names.map((name) => b.queue(name)));
    await held.release();
    for (const { lock } of waiting) await (await lock).release();
    await a.client.shutdown(0);
    await b.client.shutdown(0);
    await until(async () => (await connections('NORMAL')).every((count) => count === 0));
    expect(await connections('PUBSUB')).toEqual([0, 0, 0]);
  });

  it('are refused, with the address in the error, if the server is no cluster or no server responds', async () => {
    await using alone = new Engine({ cluster: { nodes: [process.env['REDIS_URL']!] } });
    await expect(alone.client.start()).rejects.toMatchObject({
      code: 'LOCK_CONFIGURATION',
      message: expect.stringContaining('cluster-enabled no'),
    });
    await using nobody = new Engine({ cluster: { nodes: [{ host: '127.0.0.1', port: 1 }] }, commandTimeout: 200 });
    await expect(nobody.client.start()).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('127.0.0.1:1'),
    });
    await expect(nobody.acquire('x', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('are checked by the doctor on every master', async () => {
    await using a = await start();
    const backend = new ClusterBackend({ cluster: group.connection, log: a.log });
    await backend.start('doctor', { granted: () => undefined, recovered: () => undefined });
    const found = await backend.examine();
    await backend.close();
    for (const { server } of masters) {
      expect(found).toContainEqual({
        code: 'LOCK_DOCTOR_PERSISTENCE',
        message: expect.stringContaining(`:${server.port}`),
        remark: true,
      });
    }
    expect(found).toHaveLength(3);
  });
});
