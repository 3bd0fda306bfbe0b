import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterKeySpace, slotCount, tagOf } from '../support/backends.js';
import { ClusterGroup } from '../support/cluster-group.js';
import type { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker, uniqueName } from './support/locker.js';

const keys = clusterKeySpace('lock:');
const share = Math.ceil(slotCount / 3);

describe('a cluster of three masters with replicas', () => {
  let group: ClusterGroup;

  beforeAll(async () => {
    group = await ClusterGroup.start();
  });
  afterAll(() => group.stop());
  expectNoLeftovers();

  let names = 0;
  /** A name in a slot of its own, of one of the three parts. */
  const nameIn = (part: number): string => `${tagOf(part * share + 17 * ++names)}}:${uniqueName()}`;

  interface Place {
    readonly slot: number;
    readonly owner: RedisServer;
  }
  const placeOf = async (name: string): Promise<Place> => {
    const slot = keys.slotOf(name);
    return { slot, owner: await group.ownerOf(slot) };
  };

  /** Waits until that many claims wait for the lock at a server, and each of their clients is subscribed there. */
  const queued = (server: RedisServer, name: string, count: number): Promise<string[]> =>
    until(`${count} waiters of ${name}`, async () => {
      const admin = group.admin(server);
      const [, queue, waiters] = keys.forLock(name);
      const claims = await admin.zrange(queue, 0, '-1').catch(() => []);
      const entries = await admin.hvals(waiters).catch(() => []);
      return claims.length === count && entries.every((entry) => / listening \d+$/.test(entry)) ? claims : undefined;
    });

  const record = async (server: RedisServer, name: string): Promise<string | null> =>
    group.admin(server).get(keys.forLock(name)[0]);

  // Fault 28: I1, I3, I5 no error
  it('moves a slot with its locks: the holder keeps renewing, waiters keep their order and are notified by the new node, tokens increase', async () => {
    const name = nameIn(0);
    const { slot, owner } = await placeOf(name);
    const target = await group.ownerOf(2 * share);
    await using holder = await Locker.to(group.connection);
    await using first = await Locker.to(group.connection);
    await using second = await Locker.to(group.connection);
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    const turns: string[] = [];
    const work = async (who: string, locker: Locker): Promise<number> => {
      const lock = await locker.acquire(name, { wait: '20s' });
      turns.push(who);
      await lock.release();
      return lock.fencingToken;
    };
    const firstDone = work('first', first);
    await queued(owner, name, 1);
    let secondDone: Promise<number> | undefined;
    await group.move(slot, target, async () => {
      // Neither node can answer now: its acquire is sent again.
      secondDone = work('second', second);
      await expect(holder.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });
    await queued(target, name, 2);
    await held.renew();
    expect(await record(target, name)).toContain(` ${held.fencingToken} `);
    expect(await record(owner, name).catch((error: Error) => error.message)).toMatch(/^MOVED/);
    await held.release();
    const [firstToken, secondToken] = [await firstDone, await secondDone!];
    expect(turns).toEqual(['first', 'second']);
    expect(firstToken).toBeGreaterThan(held.fencingToken);
    expect(secondToken).toBeGreaterThan(firstToken);
    expect([...holder.log.lines, ...first.log.lines, ...second.log.lines]).toEqual([]);
    await group.move(slot, owner);
  });

  // Fault 29: I3, I5 unavailable
  it('rejects as unavailable within the wait for a slot that no node serves, and locks as soon as a node does', async () => {
    const name = nameIn(0);
    const { slot, owner } = await placeOf(name);
    await using locker = await Locker.to(group.connection);
    await using other = await Locker.to(group.connection);
    await group.admin(owner).cluster('DELSLOTS', slot);
    const impatient = locker.acquire(name, { wait: 300 });
    await expect(impatient).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      uncertain: false,
      message: expect.stringContaining('CLUSTERDOWN'),
    });
    await expect(locker.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const patient = other.acquire(name, { wait: '20s' });
    await group.admin(owner).cluster('ADDSLOTS', slot);
    await (await patient).release();
  });

  it('with a node that stops responding rejects as unavailable for its slots, while locks of all others are taken, renewed and handed on', async () => {
    const [silent, well, shared] = [nameIn(0), nameIn(1), nameIn(1)];
    const { owner } = await placeOf(silent);
    await using proxy = await TcpProxy.to(owner.port);
    const natMap = { [`${owner.host}:${owner.port}`]: { host: '127.0.0.1', port: proxy.port } };
    const through = { ...group.connection, options: { natMap } };
    await using one = await Locker.to(through, { commandTimeout: 1200 });
    await using two = await Locker.to(through, { commandTimeout: 1200 });
    await (await one.acquire(silent)).release();
    const held = await one.acquire(well, { lease: 900, renew: true });
    const stuck = await one.acquire(nameIn(0), { lease: 900, renew: true });
    const handed = await one.acquire(shared);
    const waiting = two.acquire(shared, { wait: '20s' });
    await queued((await placeOf(shared)).owner, shared, 1);
    proxy.swallow();
    const calls = Array.from({ length: 5 }, () => one.acquire(silent, { wait: '20s' }));
    // Long enough for both leases to end, if the renewal of one waited for the reply to the other.
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({
        code: 'LOCK_UNAVAILABLE',
        message: expect.stringContaining(`:${proxy.port}`),
      });
    }
    await expect(two.acquire(silent, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await (await one.acquire(nameIn(2), { wait: 0 })).release();
    await handed.release();
    await (await waiting).release();
    const expiry = Number((await record((await placeOf(well)).owner, well))!.split(' ')[2]);
    await until('renewals go on', async () => {
      const text = await record((await placeOf(well)).owner, well);
      return Number(text!.split(' ')[2]) > expiry;
    });
    expect(held.isHeld).toBe(true);
    expect(stuck.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    await held.release();
    await proxy.heal();
    await until('the node is back', () => one.log.lines.some((line) => line.includes('answers again')), 15_000);
    await (await one.acquire(silent, { wait: '10s' })).release();
    expect(one.log.lines.filter((line) => line.includes('a node of the cluster'))).toHaveLength(2);
    await stuck.release();
  });

  it('with a node that stops responding is impaired for a health check, which asks every node', async () => {
    const { owner } = await placeOf(nameIn(0));
    await using proxy = await TcpProxy.to(owner.port);
    const natMap = { [`${owner.host}:${owner.port}`]: { host: '127.0.0.1', port: proxy.port } };
    await using locker = await Locker.to({ ...group.connection, options: { natMap } }, { commandTimeout: 500 });
    const { health } = locker.operators;
    await health.check();
    expect(health.problems()).toEqual([]);
    proxy.swallow();
    // The reply to the first one was a moment ago; a failed call makes the next check ask again.
    await expect(locker.acquire(nameIn(0), { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await health.check();
    expect(health.problems()).toEqual(['server_away']);
    const away = [...locker.backend.availability()].filter(([, isAvailable]) => !isAvailable);
    expect(away).toEqual([[`127.0.0.1:${proxy.port}`, false]]);
    await proxy.heal();
    await until('the node is back', () => [...locker.backend.availability()].every(([, is]) => is), 15_000);
    await health.check();
    expect(health.problems()).toEqual([]);
  });

  it('is impaired for a health check while it refuses the subscription of a waiter', async () => {
    const name = nameIn(1);
    const { owner } = await placeOf(name);
    const admin = group.admin(owner);
    await using holder = await Locker.to(group.connection);
    await using waiter = await Locker.to(group.connection, { commandTimeout: 500, poll: 500 });
    const held = await holder.acquire(name);
    const waiting = waiter.acquire(name, { wait: '60s' });
    await queued(owner, name, 1);
    expect(waiter.operators.health.problems()).toEqual([]);
    await admin.acl('SETUSER', 'default', '-subscribe', '-ssubscribe');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until('it is deaf', () => waiter.operators.health.problems().includes('no_messages'));
    await admin.acl('SETUSER', 'default', '+@all');
    await held.release();
    await (await waiting).release();
  });

  it('notifies its waiters again after it has dropped their subscriptions', async () => {
    const name = nameIn(1);
    const { owner } = await placeOf(name);
    await using holder = await Locker.to(group.connection);
    await using waiter = await Locker.to(group.connection);
    const held = await holder.acquire(name);
    const waiting = waiter.acquire(name, { wait: '20s' });
    await queued(owner, name, 1);
    const channels = async (): Promise<unknown[]> => group.admin(owner).pubsub('SHARDCHANNELS');
    const before = await channels();
    await group.admin(owner).call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until('it listens again', async () => (await channels()).length === before.length);
    await queued(owner, name, 1);
    await held.release();
    await (await waiting).release();
  });

  it('whose master dies keeps a lock that its replica has: the holder renews it there, and the waiters keep their order', async () => {
    const name = nameIn(2);
    const { owner } = await placeOf(name);
    const replica = await group.replicaOf(owner);
    await using holder = await Locker.to(group.connection, { commandTimeout: 1000 });
    await using first = await Locker.to(group.connection, { commandTimeout: 1000 });
    await using second = await Locker.to(group.connection, { commandTimeout: 1000 });
    const resource = new GuardedResource();
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    const turns: string[] = [];
    const work = async (who: string, locker: Locker): Promise<void> => {
      const lock = await locker.acquire(name, { wait: '20s' });
      turns.push(who);
      expect(resource.write(lock.fencingToken)).toBe(true);
      await lock.release();
    };
    const firstDone = work('first', first);
    await queued(owner, name, 1);
    const secondDone = work('second', second);
    const queue = await queued(owner, name, 2);
    expect(await group.admin(owner).wait(1, 10_000)).toBe(1);
    const before = (await record(owner, name))!;
    await owner.kill();
    // Locks on the other nodes are not affected.
    await (await holder.acquire(nameIn(1), { wait: 0 })).release();
    await expect(second.acquire(nameIn(2), { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await group.takeOver(replica);
    await until('a renewal at the new master', async () => (await record(replica, name)) !== before, 15_000);
    expect(await record(replica, name)).toContain(` ${held.fencingToken} `);
    expect(held.isHeld).toBe(true);
    expect(resource.write(held.fencingToken)).toBe(true);
    expect(await queued(replica, name, 2)).toEqual(queue);
    await held.release();
    await Promise.all([firstDone, secondDone]);
    expect(turns).toEqual(['first', 'second']);
    expect(holder.log.lines.filter((line) => line.includes('lost'))).toEqual([]);
    expect(holder.log.lines.some((line) => line.includes('serves no slots any more'))).toBe(true);
    await group.rejoin(owner);
  });

  // Fault 16: I1, I2, I3, I5 lost
  it('killed with a lock that its replica lacks, which is promoted by force: two may hold it, the first learns its loss, and its token is refused', async () => {
    const name = nameIn(1);
    const { owner } = await placeOf(name);
    const replica = await group.replicaOf(owner);
    const resource = new GuardedResource();
    await using holder = await Locker.to(group.connection, { commandTimeout: 1000 });
    await using other = await Locker.to(group.connection, { commandTimeout: 1000 });
    // Cut off from its master, it misses the following writes.
    replica.pause();
    await group.admin(owner).call('CLIENT', 'KILL', 'TYPE', 'replica');
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    expect(resource.write(held.fencingToken)).toBe(true);
    const waiting = other.acquire(name, { wait: '20s' });
    await queued(owner, name, 1);
    await owner.kill();
    replica.resume();
    await group.takeOver(replica);
    const lock = await waiting;
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    expect(resource.write(lock.fencingToken)).toBe(true);
    await until('the old holder knows of the loss', () => held.signal.aborted, 15_000);
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(resource.write(held.fencingToken)).toBe(false);
    await held.release();
    expect(lock.isHeld).toBe(true);
    await lock.release();
    await group.rejoin(owner);
  });
});
