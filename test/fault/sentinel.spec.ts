import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { Outcome, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker, uniqueName } from './support/locker.js';
import { keys, ServerView } from './support/server-view.js';
import { splitConnection } from './support/split-connection.js';

describe('a master that Sentinel replaces', () => {
  let group: SentinelGroup;
  let views: ServerView[];

  beforeEach(async () => {
    views = [];
    group = await SentinelGroup.start();
  });
  afterEach(async () => {
    for (const view of views) await view[Symbol.asyncDispose]();
    await group.stop();
  });
  // After the hook above: the test's own connection is no leftover.
  expectNoLeftovers();

  async function look(server: RedisServer): Promise<ServerView> {
    const view = await ServerView.of(server);
    views.push(view);
    return view;
  }

  /** Everything written up to now is on both replicas. */
  const copied = async (view: ServerView): Promise<void> => {
    expect(await view.redis.wait(2, 10_000)).toBe(2);
  };

  /** At a master, when the clients have left. */
  async function expectNothingLeft(view: ServerView, ...lockers: Locker[]): Promise<void> {
    await Promise.all(lockers.map(({ client }) => client.shutdown(0)));
    await view.expectNothingLeft();
  }

  it('killed: a lock that a replica has survives, its holder renews it there, and the waiters keep their order', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using holder = await Locker.to(group.connection);
    await using first = await Locker.to(group.connection);
    await using second = await Locker.to(group.connection);
    const master = await group.master();
    const view = await look(master);
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    const turns: string[] = [];
    const work = async (who: string, locker: Locker): Promise<void> => {
      const lock = await locker.acquire(name, { wait: '20s' });
      turns.push(who);
      expect(resource.write(lock.fencingToken)).toBe(true);
      await lock.release();
    };
    const firstDone = work('first', first);
    await view.queued(name, 1);
    const secondDone = work('second', second);
    const queue = await view.queued(name, 2);
    await copied(view);
    const before = (await view.holder(name))!;
    await master.kill();
    const now = await look(await group.masterLost());
    await until('a renewal at the new master', async () => (await now.holder(name))!.expiry > before.expiry, 15_000);
    expect(await now.holder(name)).toMatchObject({ claim: before.claim, token: held.fencingToken });
    expect(held.isHeld).toBe(true);
    expect(resource.write(held.fencingToken)).toBe(true);
    // The subscriptions have followed.
    expect(await now.queued(name, 2)).toEqual(queue);
    await held.release();
    await Promise.all([firstDone, secondDone]);
    expect(turns).toEqual(['first', 'second']);
    expect(
      [...holder.log.lines, ...first.log.lines, ...second.log.lines].filter((line) => line.includes('lost')),
    ).toEqual([]);
  });

  // Fault 14: I1, I2, I3 (ten commands at most), I5 lost
  it('killed with a lock that no replica has: two may hold it, the first learns its loss, and its token is refused', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using holder = await Locker.to(group.connection);
    await using other = await Locker.to(group.connection);
    const master = await group.master();
    await group.cutReplicas();
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    expect(resource.write(held.fencingToken)).toBe(true);
    const waiting = other.acquire(name, { wait: '20s' });
    const view = await look(master);
    // It is not subscribed: the sentinels are stopped, and do not say where.
    await until('it waits', async () => (await view.queue(name)).length === 1);
    await master.kill();
    const now = await look(await group.masterLost());
    const lock = await waiting;
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    expect(resource.write(lock.fencingToken)).toBe(true);
    await until('the old holder knows of the loss', () => held.signal.aborted);
    // By a reply, and so before its lease was over.
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(resource.write(held.fencingToken)).toBe(false);
    await held.release();
    expect(lock.isHeld).toBe(true);
    await lock.release();
    // It cost few commands, and nothing is left: one renewal with reply 'lost', one acquire, the releases, and some that failed in the failover.
    expect(await now.calls('evalsha')).toBeLessThanOrEqual(10);
    await expectNothingLeft(now, holder, other);
  });

  // Fault 14: I1, I2, I3, I5 lost, contended
  it('killed with a hand-off that no replica has: the new holder learns its loss, and the forgotten release costs the rest of the lease', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using holder = await Locker.to(group.connection);
    await using waiter = await Locker.to(group.connection);
    const master = await group.master();
    const view = await look(master);
    const held = await holder.acquire(name, { lease: '1m' });
    expect(resource.write(held.fencingToken)).toBe(true);
    const waiting = waiter.acquire(name, { wait: '20s', lease: '20s', renew: true });
    await view.queued(name, 1);
    const before = (await view.holder(name))!;
    await copied(view);
    await group.cutReplicas();
    await held.release();
    const lock = await waiting;
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    expect(resource.write(lock.fencingToken)).toBe(true);
    // Its lease must outlive the failover.
    await until('the grant is confirmed', async () => (await view.holder(name))!.state === 'full');
    await master.kill();
    const now = await look(await group.masterLost());
    await until('it knows of the loss', () => lock.signal.aborted);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    await lock.release();
    // The released lock is taken again, without a holder, until its lease is over. (Waited for, since sentinels close the connections of a new master.)
    expect(await now.holder(name)).toMatchObject({ claim: before.claim, token: before.token });
    await expect(waiter.acquire(name, { wait: '2s' })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    await now.redis.del(keys.forLock(name)[0]);
    const next = await waiter.acquire(name, { wait: '15s' });
    expect(resource.write(next.fencingToken)).toBe(true);
    expect(resource.write(lock.fencingToken)).toBe(false);
    await next.release();
    await expectNothingLeft(now, holder, waiter);
  });

  // Fault 15: I1, I3 (nothing reaches the old master)
  it('replaced by hand, still alive and writable: clients leave it as soon as a sentinel reports the new master', async () => {
    const name = uniqueName();
    await using holder = await Locker.to(group.connection);
    await using waiter = await Locker.to(group.connection);
    const old = await look(await group.master());
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    const waiting = waiter.acquire(name, { wait: '20s' });
    await old.queued(name, 1);
    await copied(old);
    const { expiry } = (await old.holder(name))!;
    await group.leaveOldMaster();
    const now = await look(await group.failover());
    await until('a renewal at the new master', async () => (await now.holder(name))!.expiry > expiry);
    await now.queued(name, 1);
    expect(String(await old.redis.info('replication'))).toContain('role:master');
    const asked = await old.calls('evalsha');
    await held.release();
    const lock = await waiting;
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    expect(await now.holder(name)).toMatchObject({ token: lock.fencingToken });
    // The old one got no request: nothing has changed there since.
    expect(await old.holder(name)).toMatchObject({ token: held.fencingToken });
    await lock.release();
    expect(await old.calls('evalsha')).toBe(asked);
    await expectNothingLeft(now, holder, waiter);
  });

  it('stopped, replaced and awake again: no client uses the grants that it still executes', async () => {
    const name = uniqueName();
    await using holder = await Locker.to(group.connection, { commandTimeout: 500 });
    await using waiter = await Locker.to(group.connection, { commandTimeout: 500 });
    const master = await group.master();
    const old = await look(master);
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    const waiting = new Outcome(waiter.acquire(name, { wait: '20s' }));
    const [claim] = await old.queued(name, 1);
    await copied(old);
    const before = (await old.holder(name))!;
    master.pause();
    // The release goes to the stopped server and is executed when it wakes up: the old master hands the lock to the waiter.
    const stale = holder.backend.release({ name, id: before.claim }).catch(() => undefined);
    const now = await look(await group.masterLost());
    await stale;
    await now.queued(name, 1);
    expect(await now.holder(name)).toMatchObject({ claim: before.claim });
    master.resume();
    await until('the old master follows the new one', async () =>
      /role:slave[^]*link_status:up/.test(await old.redis.info('replication')),
    );
    expect(waiting.settled).toBe(false);
    expect(held.isHeld).toBe(true);
    expect(await now.holder(name)).toMatchObject({ claim: before.claim, token: held.fencingToken });
    expect(await now.queue(name)).toEqual([claim]);
    await held.release();
    await until('the waiter got in', () => waiting.settled);
    expect(waiting.value!.fencingToken).toBeGreaterThan(held.fencingToken);
    await waiting.value!.release();
  });
});

describe('a message from another server than the commands’ one', () => {
  expectNoLeftovers();

  it('is no grant until the commands’ server has confirmed it', async () => {
    const name = uniqueName();
    await using server = await startRedis();
    await using replaced = await startRedis();
    await using view = await ServerView.of(server);
    await using old = await ServerView.of(replaced);
    await using holder = await Locker.to(server.url);
    await using waiter = await Locker.to(splitConnection(server.port, replaced.port));
    const held = await holder.acquire(name, { lease: '20s', renew: true });
    const waiting = new Outcome(waiter.acquire(name, { wait: '20s' }));
    const claim = await until('it waits', async () => (await view.queue(name))[0]);
    const calls = await view.calls('evalsha');
    const token = await old.now();
    const [record] = keys.forLock(name);
    const grant = `${claim} ${token} ${token} ${token} 3000 ${record}`;
    // Its subscription is on the other server: the commands' server reports no listener.
    await until(
      'the message was sent',
      async () => (await old.redis.publish(keys.channels + claim.split(':')[0]!, grant)) === 1,
    );
    await until('it asked the other one', async () => (await view.calls('evalsha')) > calls);
    expect(waiting.settled).toBe(false);
    expect(held.isHeld).toBe(true);
    await held.release();
    await until('the lock is its', () => waiting.settled);
    await waiting.value!.release();
  });
});
