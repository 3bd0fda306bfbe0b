import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Party } from '../../../conformance/party.js';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { slotOfKey } from '../../../lib/backends/redis/cluster/slots.js';
import { ClusterBackend } from '../../../lib/backends/redis/cluster/cluster-backend.js';
import { RedissonBackend } from '../../../lib/backends/redis/redisson/redisson-backend.js';
import { RedissonDialect } from '../../../lib/backends/redis/redisson/redisson-dialect.js';
import { withPoll } from '../../support/backends.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { matrix } from './matrix.js';
import { until } from './observations.js';
import { Peer, type PeerProgram, watchdog } from './peer.js';
import { aCluster, type ClusterSite, listenersOf } from './sites.js';

const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };
/** Longer than any test waits: a waiter that is woken by its poll alone fails. */
const noPoll = 600_000;

/** This library and Redisson on a cluster: all rows, and what only a cluster has. */
export function clusterMatrix(open: () => Promise<PeerProgram>): void {
  let site: ClusterSite;
  const ends: Array<() => unknown> = [];

  beforeAll(async () => {
    site = await aCluster();
  }, 60_000);
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  matrix(open, async () => ({ ...site, stop: async () => undefined }));
  // After those of the matrix.
  afterAll(() => site.stop());

  const unique = (): string => `product:${randomUUID()}`;
  /** A name of the n-th master. */
  const nameOf = (part: number): string => {
    for (;;) {
      const name = unique();
      if (Math.floor(slotOfKey(name) / (16_384 / 3)) === part) return name;
    }
  };
  const newClient = async (options: object = {}, poll = noPoll): Promise<RedisLockClient> => {
    const client = createLockClient(
      withPoll(poll, { ...site.connection, redisson: true, lease: watchdog, log: silent, ...options }),
    );
    ends.push(() => client.close());
    await client.connect();
    return client;
  };
  const newJava = async (mode: string, address = site.address): Promise<Peer> => {
    const java = await Peer.start(await open(), address, mode);
    ends.push(() => java.kill());
    return java;
  };
  const listened = (name: string, least = 1): Promise<void> =>
    until(async () => (await listenersOf(site, name)) >= least);
  const plainMessages = async (): Promise<number> => {
    const stats = await Promise.all(site.group.masters.map((server) => site.group.admin(server).info('commandstats')));
    return stats.reduce((sum, text) => sum + Number(/^cmdstat_publish:calls=(\d+)/m.exec(text)?.[1] ?? 0), 0);
  };

  describe('messages of either kind', () => {
    // Redisson 3.24 decides by the node of its first address: it listens plainly when that one lacks slot 0.
    const plainly = (): Promise<Peer> => newJava('cluster-plain', site.address.split(',').toReversed().join());

    it('a Redisson that listens plainly is woken by a release here, also beside waiters of this library', async () => {
      const [java, client, other] = [await plainly(), await newClient(), await newClient()];
      for (const part of [0, 1, 2]) {
        const name = nameOf(part);
        const lock = await client.acquire(name, { lease: '1h', renew: false });
        const waiting = java.run('a', 'lock', 'plain', name);
        await listened(name);
        expect(await (await site.serverOf(name)).pubsub('NUMSUB', `redisson_lock__channel:{${name}}`)).toEqual([
          `redisson_lock__channel:{${name}}`,
          1,
        ]);
        const ours = other.acquire(name, { wait: '1m' }).then((next) => next.release());
        await listened(name, 3);
        await lock.release();
        expect(await waiting).toBe('held');
        await java.run('a', 'unlock', 'plain', name);
        await ours;
      }
    }, 60_000);

    it('a Redisson that publishes plainly wakes a waiter here', async () => {
      const [java, client] = [await plainly(), await newClient()];
      for (const part of [0, 1, 2]) {
        const name = nameOf(part);
        await java.run('a', 'lock', 'plain', name, 3_600_000);
        const waiting = client.acquire(name, { wait: '1m' });
        await listened(name, 2);
        await java.run('a', 'unlock', 'plain', name);
        await (await waiting).release();
      }
    }, 60_000);

    it('no message goes to all nodes while a Redisson and clients of this library hear sharded ones', async () => {
      const [java, client, other] = [await newJava('cluster'), await newClient(), await newClient()];
      const before = await plainMessages();
      const name = unique();
      const lock = await client.acquire(name);
      const waiting = [
        java.run('a', 'lock', 'plain', name).then(() => java.run('a', 'unlock', 'plain', name)),
        other.acquire(name, { wait: '1m' }).then((next) => next.release()),
      ];
      await listened(name, 3);
      await lock.release();
      await Promise.all(waiting);
      expect(await plainMessages()).toBe(before);
    }, 60_000);
  });

  describe('subscriptions', () => {
    it.each(['cluster', 'cluster-plain'])(
      'show a holder that Java waits (%s), and not those of its own client',
      async (mode) => {
        const options = { log: silent, poll: 600_000 };
        const backend = new RedissonBackend(
          options,
          (format) => new ClusterBackend({ ...options, cluster: site.group.connection, keyPrefix: '', format }),
        );
        ends.push(() => backend.close());
        const [java, party] = [await newJava(mode), await new Party(backend).start()];
        const name = nameOf(0);
        const held = await party.take(name);
        const othersWait = async (): Promise<boolean> => {
          const [reply] = await backend.renew([{ ...held, lease: 20_000, reserve: 1 }]);
          return (reply as { readonly othersWait: boolean }).othersWait;
        };
        await party.queue(name);
        await listened(name, 2);
        await until(async () => !(await othersWait()));
        void java.run('a', 'lock', 'plain', name).catch(() => undefined);
        await listened(name, 3);
        expect(await othersWait()).toBe(true);
      },
      60_000,
    );

    it('of a lock without waiters end, sharded and plain, while another lock of the node has waiters', async () => {
      const [java, client] = [await newJava('cluster'), await newClient()];
      const [one, other] = [nameOf(0), nameOf(0)];
      await java.run('a', 'lock', 'plain', one, 3_600_000);
      await java.run('a', 'lock', 'plain', other, 3_600_000);
      const waiting = [one, other].map((name) => client.acquire(name, { wait: '1m' }));
      await Promise.all([one, other].map((name) => listened(name, 2)));
      await java.run('a', 'unlock', 'plain', one);
      await (await waiting[0]!).release();
      await until(async () => (await listenersOf(site, one)) === 0);
      expect(await listenersOf(site, other)).toBe(2);
      await java.run('a', 'unlock', 'plain', other);
      await (await waiting[1]!).release();
    }, 60_000);

    it('at a node that does not serve the slot are refused, and leave nothing there', async () => {
      const { subscribe } = new RedissonDialect('', {
        tokens: 'own',
        inCluster: true,
        commandTimeout: 1000,
        isWanted: () => true,
        woken: () => undefined,
      });
      const channel = `redisson_lock__channel:{${nameOf(0)}}`;
      const wrong = site.group.admin(site.group.masters[1]!);
      const messages = wrong.duplicate({ autoResubscribe: false });
      ends.push(() => messages.disconnect());
      await expect(subscribe(messages, channel)).rejects.toThrow(/^MOVED/);
      await until(async () => Number((await wrong.pubsub('NUMSUB', channel))[1]) === 0);
    });
  });

  describe('names with braces', () => {
    it('a name with a hash tag is one lock on both sides, which wake each other', async () => {
      const [java, client] = [await newJava('cluster'), await newClient()];
      const name = `order:{${randomUUID()}}:pay`;
      const heard = async (): Promise<boolean> =>
        (
          (await (await site.serverOf(name)).call('PUBSUB', 'SHARDNUMSUB', `redisson_lock__channel:${name}`)) as [
            string,
            number,
          ]
        )[1] > 0;
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = client.acquire(name, { wait: '1m', lease: '1h', renew: false });
      await until(heard);
      await java.run('a', 'unlock', 'plain', name);
      const lock = await waiting;
      const next = java.run('b', 'lock', 'plain', name);
      await until(async () => (await site.redis.pttl(name)) > 0 && (await heard()));
      await lock.release();
      expect(await next).toBe('held');
      await java.run('b', 'unlock', 'plain', name);
    }, 60_000);

    it.each(['a{b', 'a}b', 'x{}y', '{}', 'a{}b{c}'])('%s is refused, with what to do', async (name) => {
      const client = await newClient();
      const refused = { code: 'LOCK_CONFIGURATION', message: expect.stringContaining('write a hash tag') };
      await expect(client.acquire(name)).rejects.toMatchObject(refused);
      await expect(client.tryAcquire(name)).rejects.toMatchObject(refused);
      await expect(client.inspect(name)).rejects.toMatchObject(refused);
      await expect(client.forceRelease(name)).rejects.toMatchObject(refused);
      expect(await site.redis.exists(name)).toBe(0);
    });
  });

  it('a node that stops responding ends no lock on the others', async () => {
    const [silent, well] = [nameOf(0), nameOf(1)];
    const server = await site.serverOf(silent);
    await using proxy = await TcpProxy.to(server.options.port!);
    // A renewal that waits for the reply of the silent one comes too late for the other.
    const client = await newClient({ ...site.through(server, proxy), commandTimeout: 1200, lease: 900 });
    const [stuck, held] = [await client.acquire(silent), await client.acquire(well)];
    proxy.swallow();
    if (!stuck.signal.aborted) await once(stuck.signal, 'abort');
    const end = performance.now() + watchdog;
    await until(async () => performance.now() > end);
    expect(held.isHeld).toBe(true);
    expect(await site.redis.hlen(well)).toBe(1);
    await held.release();
  }, 60_000);

  // Row 18
  describe('a slot that moves to another node', () => {
    /** Moves the slot of a name to the third master; resolves to its way back. */
    const move = async (name: string): Promise<() => Promise<void>> => {
      const { group } = site;
      const slot = slotOfKey(name);
      const owner = await group.ownerOf(slot);
      await group.move(slot, group.masters[2]!);
      return () => group.move(slot, owner);
    };

    it('while a client here waits: it is woken at the new node', async () => {
      const [java, client] = [await newJava('cluster'), await newClient()];
      const name = nameOf(0);
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name, 2);
      const back = await move(name);
      await listened(name, 2);
      await java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
      await back();
    }, 60_000);

    it('and back while a client here waits: it is woken at the old node', async () => {
      const [java, client] = [await newJava('cluster'), await newClient()];
      const name = nameOf(0);
      await java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = client.acquire(name, { wait: '1m' });
      await listened(name, 2);
      await (
        await move(name)
      )();
      await until(async () => (await listenersOf(site, name)) === 2);
      await java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
    }, 60_000);

    it('while Java waits: the holder here renews and releases at the new node, and Java has the lock', async () => {
      const [java, client] = [await newJava('cluster'), await newClient()];
      const name = nameOf(0);
      const lock = await client.acquire(name);
      const waiting = java.insist('a', 'lock', 'plain', name);
      await listened(name);
      const back = await move(name);
      await lock.renew();
      expect(lock.isHeld).toBe(true);
      expect(await (await site.serverOf(name)).hlen(name)).toBe(1);
      await lock.release();
      expect(await waiting).toBe('held');
      await java.run('a', 'unlock', 'plain', name);
      await back();
    }, 60_000);
  });

  // Row 18. The last test: the cluster is another one after it.
  it('a master that fails: a lock that its replica has stays held, and both wake each other at the new master', async () => {
    const { group } = site;
    const [java, client] = [await newJava('cluster'), await newClient({ commandTimeout: 1000 }, 1000)];
    const name = nameOf(1);
    const lock = await client.acquire(name, { lease: '20s' });
    const owner = await group.ownerOf(slotOfKey(name));
    const replica = await group.replicaOf(owner);
    expect(await group.admin(owner).wait(1, 10_000)).toBe(1);
    await owner.kill();
    await group.takeOver(replica);
    await until(() =>
      lock.renew().then(
        () => true,
        () => false,
      ),
    );
    expect(lock.isHeld).toBe(true);
    // Java finds the new master in its own time.
    await until(async () => (await java.run('a', 'try', 'plain', name)) === 'no');
    const waiting = java.insist('b', 'lock', 'plain', name);
    await listened(name);
    await lock.release();
    expect(await waiting).toBe('held');
    const next = client.acquire(name, { wait: '1m' });
    await listened(name, 2);
    await java.run('b', 'unlock', 'plain', name);
    await (await next).release();
    await group.rejoin(owner);
  }, 120_000);
}
