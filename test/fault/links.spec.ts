import { describe, expect, it } from '@jest/globals';
import type { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { rejection, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { LateLink } from './support/late-link.js';
import { Locker, uniqueName } from './support/locker.js';
import { oneRedis } from './support/one-redis.js';
import { Monitor, type ServerView } from './support/server-view.js';

const COMMAND_TIMEOUT = 300;

describe('a link that breaks, stalls or loses bytes', () => {
  let redis: RedisServer;
  let view: ServerView;
  oneRedis((started) => ({ redis, view } = started));

  const behind = (proxy: TcpProxy): Promise<Locker> => Locker.to(proxy.url, { commandTimeout: COMMAND_TIMEOUT });

  // Fault 3: I1, I3 (no command reaches Redis), I5 lost
  it.each([
    ['fixed', { lease: 1500, renew: false }],
    ['renewed', { lease: 1500, renew: true }],
  ])('aborts a %s holder on a half-open link before its lease ends at the server', async (_, options) => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using locker = await behind(proxy);
    await using other = await Locker.to(redis.url);
    const resource = new GuardedResource();
    const lock = await locker.acquire(name, options);
    resource.write(lock.fencingToken);
    const aborted = new Promise<unknown>((resolve) =>
      lock.signal.addEventListener('abort', () => resolve(lock.signal.reason)),
    );
    proxy.swallow();
    const calls = await view.calls('evalsha');
    // The holder never reports 'held' when the server's lease is over. Same machine: one clock. No renewal arrives that could lengthen it.
    let expiry = Number.POSITIVE_INFINITY;
    while (!lock.signal.aborted) {
      const before = Date.now();
      const { isHeld } = lock;
      // What was seen before counts when the server has none any more.
      expiry = (await view.holder(name))?.expiry ?? expiry;
      if (isHeld) expect(before).toBeLessThan(expiry);
      else break;
    }
    expect(expiry).toBeLessThan(Number.POSITIVE_INFINITY);
    expect(await aborted).toMatchObject({ name: 'LockLostError', code: 'LOCK_LOST', reason: 'expired', key: name });
    expect(lock.isHeld).toBe(false);
    expect(await view.calls('evalsha')).toBe(calls);
    const next = await other.acquire(name, { wait: '15s' });
    expect(resource.write(next.fencingToken)).toBe(true);
    expect(resource.write(lock.fencingToken)).toBe(false);
    await lock.release();
    await proxy.heal();
    expect(next.isHeld).toBe(true);
    await next.release();
  });

  // Fault 4: I3 (no command reaches Redis), I5 uncertain
  it('rejects as unavailable, not contended, on a half-open link, long before the wait is over', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using locker = await behind(proxy);
    proxy.swallow();
    const calls = await view.calls('evalsha');
    const error = await rejection(locker.acquire(name, { wait: '1m' }));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true, key: name });
    expect(await view.calls('evalsha')).toBe(calls);
    await proxy.heal();
    // Recovers by itself, on a new connection.
    const lock = await until('a lock after the link healed', () => locker.acquire(name).catch(() => undefined));
    await lock.release();
  });

  // Fault 6: I1, I5 no loss
  it('treats a release whose reply was lost as a release, not as a loss', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using locker = await behind(proxy);
    const scope = await locker.client.enter(name, locker.client.defaults);
    const { token } = (await view.holder(name))!;
    proxy.dropReplies();
    const left = scope.leave('worked');
    await until('the server freed it', async () => (await view.holder(name)) === undefined);
    const calls = await view.calls('evalsha');
    proxy.reset();
    await expect(left).resolves.toBeUndefined();
    await proxy.heal();
    // The repeated release finds nothing, and that is no loss either.
    await until('the release was repeated', async () => (await view.calls('evalsha')) > calls);
    const lock = await until('a new lock', () => locker.acquire(name).catch(() => undefined));
    expect(lock.fencingToken).toBeGreaterThan(token);
    await lock.release();
    expect(locker.log.lines.filter((line) => line.includes('lost'))).toEqual([]);
  });

  // Fault 7: I1 (same token), I3, I5 no loss
  it('keeps a lock when the reply to a renewal is lost: the renewal is sent again, with the same token', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using locker = await behind(proxy);
    const lock = await locker.acquire(name, { lease: 3000, renew: true });
    const first = (await view.holder(name))!;
    proxy.dropReplies();
    const renewed = await until('a renewal at the server', async () => {
      const holder = await view.holder(name);
      return holder!.expiry > first.expiry ? holder : undefined;
    });
    await proxy.heal();
    proxy.reset();
    await until('the renewal after the lost one', async () => (await view.holder(name))!.expiry > renewed.expiry);
    expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken, claim: first.claim });
    await until('the first lease is over', () => Date.now() > first.expiry + 5);
    expect(lock.isHeld).toBe(true);
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
    expect(locker.log.lines.filter((line) => line.includes('lost'))).toEqual([]);
  });

  // Fault 9: I3 (one acquire reaches Redis), I5 unavailable
  it('sends no late request of a call made while Redis was unreachable, and recovers by itself', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using locker = await behind(proxy);
    await using monitor = await Monitor.of(view);
    await proxy.refuse();
    proxy.reset();
    await until('the loss of the connection was seen', () => proxy.connections === 0);
    const errors = await Promise.all(
      [0, 100, 10_000].map((wait) => rejection(locker.acquire(`${name}:${wait}`, { wait, lease: '1m' }))),
    );
    for (const error of errors) expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await proxy.heal();
    const lock = await until('a lock', () => locker.acquire(name).catch(() => undefined));
    await monitor.sync();
    const given = await Promise.all([0, 100, 10_000].map((wait) => view.holder(`${name}:${wait}`)));
    expect(given).toEqual([undefined, undefined, undefined]);
    expect(monitor.since(0).filter((script) => script === 'acquire').length).toBe(1);
    await lock.release();
  });

  describe('whose bytes arrive after their sender hung up', () => {
    // Fault 8: I3, I5 uncertain
    it.each([
      ['soon after', 0, 50],
      ['at the last moment that its sender accepts, as the sender estimates it', 200, 1120],
    ])('leaves no lock without an owner: an acquire that is read %s is released again', async (_, latency, late) => {
      const name = uniqueName();
      await using link = await LateLink.to(redis.port);
      // Delays here make the estimate of the server's clock less exact.
      link.slow(latency);
      await using locker = await Locker.to(link.url, { commandTimeout: 1000 });
      link.slow(0);
      link.hold();
      const sent = performance.now();
      const refused = rejection(locker.acquire(name, { lease: '1m' }));
      await until('the question is on its way', () => link.holds);
      link.hangUp();
      expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
      const calls = await view.calls('evalsha');
      await until('it is late', () => performance.now() - sent > late);
      // The release went over another connection, and has its reply by now.
      await until('its release was faster', async () => (await view.calls('evalsha')) > calls || latency > 0);
      const before = await view.calls('evalsha');
      link.deliver();
      await until('it was executed', async () => (await view.calls('evalsha')) > before);
      await until('the ghost is gone', async () => (await view.holder(name)) === undefined);
      await using other = await Locker.to(redis.url);
      await (await other.acquire(name, { wait: 0 })).release();
    });
  });
});
