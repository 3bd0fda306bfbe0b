import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ClusterGroup } from '../../support/cluster-group.js';

// Connections to the nodes are the library's own: it makes them with the ioredis that the application has installed.
jest.unstable_mockModule('ioredis', () => import('ioredis5'));
const { Cluster } = await import('ioredis');
const { ClusterGroup: Group } = await import('../../support/cluster-group.js');
const { keySpace, slotOfKey } = await import('../../support/backends.js');
const { Engine, unique, until } = await import('./engine.js');

describe('locks on a cluster, with ioredis 5', () => {
  let group: ClusterGroup;
  beforeAll(async () => {
    group = await Group.start();
  });
  afterAll(() => group.stop());

  it('are taken, waited for, handed on by message, and follow a slot that moves under a waiter', async () => {
    const nodes = group.masters.map(({ host, port }) => ({ host, port }));
    const cluster = new Cluster(nodes, { lazyConnect: true });
    expect(Cluster).toBe((await import('ioredis5')).Cluster);
    await using a = await Engine.start({ cluster, poll: 60_000 });
    await using b = await Engine.start({ cluster, poll: 60_000 });
    const name = unique();
    const held = await a.acquire(name, { lease: '30s' });
    const { lock } = await b.queue(name);
    await held.release();
    const next = await lock;
    expect(b.backend.grants).toHaveLength(1);

    const { lock: waiting } = await a.queue(name);
    const slot = slotOfKey(keySpace('lock:').forLock(name)[0]);
    const owner = await group.ownerOf(slot);
    const target = group.masters.find((master) => master !== owner)!;
    await group.move(slot, target);
    // No poll for a minute: it asked because its subscription was dropped.
    await until(async () => (await group.admin(target).pubsub('SHARDCHANNELS')).length === 1);
    await next.renew();
    await next.release();
    const last = await waiting;
    expect(last.fencingToken).toBeGreaterThan(next.fencingToken);
    await last.release();
    expect([...a.log.lines, ...b.log.lines]).toEqual([]);
  });
});
