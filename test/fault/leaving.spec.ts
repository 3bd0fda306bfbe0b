import { describe, expect, it } from '@jest/globals';
import type { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Outcome, rejection, until } from './support/conditions.js';
import { LockProcess } from './support/lock-process.js';
import { Locker, uniqueName } from './support/locker.js';
import { oneRedis } from './support/one-redis.js';
import type { ServerView } from './support/server-view.js';

describe('a process that ends', () => {
  let redis: RedisServer;
  let view: ServerView;
  oneRedis((started) => ({ redis, view } = started));

  // Fault 34: I3, I5 unavailable
  it('rejects its waiters at once, lets the running work end, and then releases its locks', async () => {
    const [mine, theirs] = [uniqueName(), uniqueName()];
    await using leaving = await Locker.to(redis.url);
    await using staying = await Locker.to(redis.url);
    const held = await leaving.acquire(mine);
    const other = await staying.acquire(theirs);
    const waits = [
      leaving.acquire(mine, { wait: '1m' }),
      leaving.acquire(theirs, { wait: '1m' }),
      leaving.acquire(theirs, { wait: Infinity, fairness: 'strict' }),
    ].map((waiting) => rejection(waiting));
    await view.queued(theirs, 2);
    const left = new Outcome(leaving.client.shutdown(20_000));
    for (const error of await Promise.all(waits)) expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await until('their entries are gone', async () => (await view.queue(theirs)).length === 0);
    // The work goes on inside its lock.
    expect(left.settled).toBe(false);
    expect(held.isHeld).toBe(true);
    expect(await view.holder(mine)).toMatchObject({ token: held.fencingToken });
    const next = staying.acquire(mine, { wait: '15s' });
    await view.queued(mine, 1);
    await held.release();
    await (await next).release();
    await until('it has left', () => left.settled);
    expect(left.error).toBeUndefined();
    expect(await rejection(leaving.acquire(mine))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await other.release();
  });

  it('aborts work that does not end in time, frees its lock, and rejects the locks that the work still waits for', async () => {
    const [mine, theirs] = [uniqueName(), uniqueName()];
    await using leaving = await Locker.to(redis.url);
    await using staying = await Locker.to(redis.url);
    const other = await staying.acquire(theirs);
    const scope = await leaving.client.enter(mine, leaving.client.defaults);
    const left = leaving.client.shutdown(2_000);
    // Inside a lock, further locks may still be taken: otherwise the work could not end.
    const nested = rejection(scope.run(() => leaving.acquire(theirs, { wait: Infinity })));
    await view.queued(theirs, 1);
    await left;
    expect(await nested).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(scope.lock.isHeld).toBe(false);
    expect(scope.lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    expect(await view.holder(mine)).toBeUndefined();
    expect(await rejection(scope.leave('worked'))).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
    await other.release();
  });

  it('ends by itself even if a hold was lost at maxHold and is released only after the end', async () => {
    const name = uniqueName();
    await using leaving = await Locker.to(redis.url);
    const lock = await leaving.acquire(name, { lease: 500, renew: true, maxHold: 100 });
    await until('the loss', () => lock.signal.aborted);
    await leaving.client.shutdown(0);
    await lock.release();
    await until('the lease is over', async () => (await view.holder(name)) === undefined);
  });

  it.each([
    ['a link that drops all bytes', (proxy: TcpProxy) => proxy.swallow()],
    ['a server that is gone', (proxy: TcpProxy) => proxy.refuse().then(() => proxy.reset())],
  ])('ends by itself behind %s while it holds one lock and waits for another', async (_, breakLink) => {
    const [mine, theirs] = [uniqueName(), uniqueName()];
    await using proxy = await TcpProxy.to(redis.port);
    await using leaving = await LockProcess.start({ redis: proxy.url, commandTimeout: 300 });
    await using staying = await Locker.to(redis.url);
    const other = await staying.acquire(theirs);
    await leaving.acquire('mine', mine, { lease: 2000, renew: true });
    const refused = rejection(leaving.acquire('theirs', theirs, { wait: '1m' }));
    const [claim] = await view.queued(theirs, 1);
    await breakLink(proxy);
    expect(await leaving.end()).toEqual({ code: 0, unhandled: [] });
    expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    // What it could not release ends by itself: the lock with its lease, the waiter with its connection.
    await proxy.close();
    await until('the lease is over', async () => (await view.holder(mine)) === undefined);
    await until('its connection is gone', async () => (await view.listeners(claim!)) === 0);
    await other.release();
    expect(await view.holder(theirs)).toBeUndefined();
    // Its entry ends with its heartbeat; here that would take two polls.
    await (await staying.acquire(theirs, { wait: 0 })).release();
    expect(await view.expireQueue(theirs)).toBe(true);
  });

  it('ends while it is still connecting to a server that accepts and does not respond', async () => {
    await using proxy = await TcpProxy.to(redis.port);
    proxy.swallow();
    await using young = new Locker(proxy.url, { commandTimeout: 300 });
    const starting = rejection(young.client.start());
    await until('it has connected', () => proxy.accepted > 0);
    await young.client.shutdown(0);
    expect(await starting).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  // Fault 34: I3, I5 the caller's reason
  it('removes its place in the queue when the caller aborts, also while the acquire is under way', async () => {
    const name = uniqueName();
    await using locker = await Locker.to(redis.url);
    await using holder = await Locker.to(redis.url);
    const held = await holder.acquire(name);
    // Three moments to abort: not sent yet, under way, queued.
    for (const turns of [0, 1, 2, 5, 20]) {
      const abort = new AbortController();
      const waiting = rejection(locker.acquire(name, { wait: '1m', signal: abort.signal }));
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      abort.abort(new Error(`after ${turns}`));
      expect((await waiting).message).toBe(`after ${turns}`);
    }
    await until('no entry is left', async () => (await view.queue(name)).length === 0);
    await held.release();
    expect(await view.holder(name)).toBeUndefined();
    // And a grant for a caller that has left is released at once.
    const abort = new AbortController();
    const refused = rejection(locker.acquire(name, { lease: '1m', signal: abort.signal }));
    abort.abort(new Error('no'));
    expect((await refused).message).toBe('no');
    const next = await holder.acquire(name, { wait: '15s' });
    await next.release();
  });
});
