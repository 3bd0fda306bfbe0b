import { beforeEach, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { Outcome, rejection, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { Locker, uniqueName } from './support/locker.js';
import { redisOfEachTest } from './support/one-redis.js';
import { keys, Monitor, ServerView } from './support/server-view.js';

/** There is no such policy. */
const exists = (policy: string): boolean => policy !== 'allkeys-ttl';

describe('a Redis that runs but refuses commands', () => {
  let redis: RedisServer;
  let view: ServerView;
  const start = redisOfEachTest();
  beforeEach(async () => {
    ({ redis, view } = await start(['--busy-reply-threshold', '20']));
  });

  describe('because it is out of memory', () => {
    // Fault 21: I1, I2, I5 lost
    it.each(['lru', 'lfu', 'random', 'ttl'].flatMap((how) => [`volatile-${how}`, `allkeys-${how}`]).filter(exists))(
      'warns at start of maxmemory-policy %s; the holder of an evicted lock learns its loss, and the next token is larger',
      async (policy) => {
        const name = uniqueName();
        const resource = new GuardedResource();
        await view.redis.config('SET', 'maxmemory-policy', policy);
        await view.redis.config('SET', 'maxmemory', '1gb');
        await using locker = await Locker.to(redis.url);
        expect(await locker.backend.examine()).toContainEqual(
          expect.objectContaining({ code: 'LOCK_DOCTOR_EVICTION', message: expect.stringContaining(policy) }),
        );
        const lock = await locker.acquire(name, { lease: '1m' });
        resource.write(lock.fencingToken);
        const used = Number(/used_memory:(\d+)/.exec(await view.redis.info('memory'))![1]);
        await view.redis.config('SET', 'maxmemory', used + 50_000);
        // KEYS does not count as a use of what it lists.
        for (let index = 0; (await view.redis.keys('lock:{*')).length > 0; index++) {
          await view.redis.set(`filler:${index}`, 'x'.repeat(1000), 'PX', 600_000).catch(() => undefined);
          if (index > 5000) throw new Error('the lock was never evicted');
        }
        await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: name });
        expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
        await view.redis.config('SET', 'maxmemory', 0);
        const next = await locker.acquire(name, { wait: 0 });
        expect(resource.write(next.fencingToken)).toBe(true);
        expect(resource.write(lock.fencingToken)).toBe(false);
        await lock.release();
        expect(await view.holder(name)).toMatchObject({ token: next.fencingToken });
        await next.release();
      },
    );

    // Fault 22: I1, I5 unavailable
    it('rejects an acquire as unavailable, not uncertain, and still releases and hands on held locks', async () => {
      await using locker = await Locker.to(redis.url);
      await using other = await Locker.to(redis.url);
      const [first, second] = [await locker.acquire('full:1'), await locker.acquire('full:2')];
      const next = other.acquire('full:2', { wait: '15s' });
      await view.queued('full:2', 1);
      await view.redis.config('SET', 'maxmemory', '100kb');
      const error = await rejection(locker.acquire('full:3', { wait: '15s' }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false, key: 'full:3' });
      expect(error.message).toContain('OOM');
      expect(first.isHeld).toBe(true);
      await first.release();
      expect(await view.holder('full:1')).toBeUndefined();
      await second.release();
      const lock = await next;
      expect(lock.fencingToken).toBeGreaterThan(second.fencingToken);
      await lock.release();
      expect(locker.log.lines.filter((line) => line.includes('lost'))).toEqual([]);
      await view.redis.config('SET', 'maxmemory', '0');
      await (await locker.acquire('full:3')).release();
    });
  });

  describe('because it is out of memory, for a lock that was renewed', () => {
    it('reports the renewed lease to other callers, not the one before', async () => {
      await using locker = await Locker.to(redis.url);
      await using other = await Locker.to(redis.url);
      const lock = await locker.acquire('full:4', { lease: 400 });
      await view.redis.config('SET', 'maxmemory', '100kb');
      await lock.renew('1m');
      // The record still has the first lease: there was no memory to write another one.
      const { expiry } = (await view.holder('full:4'))!;
      await until('the first lease is over', () => Date.now() > expiry);
      const error = await rejection(other.acquire('full:4', { wait: 0 }));
      expect(error).toMatchObject({ code: 'LOCK_CONTENDED' });
      expect((error as { leaseLeft?: number }).leaseLeft).toBeGreaterThan(50_000);
      expect((await other.operators.views.inspect('full:4')).holders[0]!.leaseLeft).toBeGreaterThan(50_000);
      await view.redis.config('SET', 'maxmemory', '0');
      await lock.release();
    });

    it('keeps that lease when it is renewed for less after there is memory again (G2)', async () => {
      await using locker = await Locker.to(redis.url);
      const lock = await locker.acquire('full:5', { lease: 2_000 });
      await view.redis.config('SET', 'maxmemory', '100kb');
      await lock.renew('1m');
      await view.redis.config('SET', 'maxmemory', '0');
      await lock.renew('2s');
      expect(lock.leaseLeft).toBeGreaterThan(50_000);
      // The lease that the holder counts on, and not less.
      expect(await view.redis.pttl('lock:{full:5}')).toBeGreaterThanOrEqual(Math.floor(lock.leaseLeft));
      await lock.release();
    });
  });

  describe('because it is a replica or has too few', () => {
    // Fault 23: I3 (on new connections), I5 unavailable
    it('reconnects when the server was made a replica, retries within the wait, and locks when it is a primary again', async () => {
      // A primary that waits for more replicas delays this one.
      await using primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
      await using locker = await Locker.to(redis.url, { commandTimeout: 300 });
      await view.redis.replicaof('127.0.0.1', primary.port);
      await until('the replica follows', async () => (await view.redis.info('replication')).includes('link_status:up'));
      const short = await rejection(locker.acquire('read-only', { wait: 300 }));
      expect(short).toMatchObject({ code: 'LOCK_UNAVAILABLE', key: 'read-only' });
      const connections = await view.connections();
      const calls = await view.calls('evalsha');
      const waiting = new Outcome(locker.acquire('read-only', { wait: '15s' }));
      await until('it made two connections', async () => (await view.connections()) >= connections + 2);
      expect(waiting.error).toBeUndefined();
      expect(waiting.settled).toBe(false);
      // At most ten requests a second, and at least one on each connection.
      const asked = (await view.calls('evalsha')) - calls;
      expect(asked).toBeGreaterThanOrEqual(2);
      await view.redis.replicaof('NO', 'ONE');
      await until('it got the lock', () => waiting.settled);
      await waiting.value!.release();
      await locker.client.shutdown(0);
      await view.expectNothingLeft();
    });

    // Fault 23: I5 unavailable
    it('is reported for a server that is a replica from the start, and a client of it locks as soon as it is a primary', async () => {
      await using primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
      await view.redis.replicaof('127.0.0.1', primary.port);
      await until('the replica follows', async () => (await view.redis.info('replication')).includes('link_status:up'));
      await using locker = await Locker.to(redis.url, { commandTimeout: 300 });
      const error = await rejection(locker.acquire('read-only', { wait: 0 }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
      expect(error.message).toContain('READONLY');
      await view.redis.replicaof('NO', 'ONE');
      await (await locker.acquire('read-only', { wait: '15s' })).release();
    });

    // Fault 24: I3, I5 unavailable, no loss
    it('rejects as unavailable, not uncertain, when writes need replicas that are missing', async () => {
      await using locker = await Locker.to(redis.url, { commandTimeout: 500 });
      const held = await locker.acquire('before', { lease: 2000, renew: true });
      const given = await locker.acquire('released late', { lease: '1m' });
      await view.redis.config('SET', 'min-replicas-to-write', 1);
      const error = await rejection(locker.acquire('alone', { wait: '15s' }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false, key: 'alone' });
      expect(error.message).toContain('NOREPLICAS');
      expect(held.isHeld).toBe(true);
      // No write is possible, so no release either; it is tried again.
      await given.release();
      expect(await view.holder('released late')).toMatchObject({ token: given.fencingToken });
      await view.redis.config('SET', 'min-replicas-to-write', 0);
      await until('its release', async () => (await view.holder('released late')) === undefined);
      // A refused renewal is no loss: it is tried again well inside the lease.
      const { expiry } = (await view.holder('before'))!;
      await until('a renewal', async () => (await view.holder('before'))!.expiry > expiry);
      await held.release();
      await (await locker.acquire('alone')).release();
      await locker.client.shutdown(0);
      await view.expectNothingLeft();
    });
  });

  // Fault 25: I3, I5 unavailable
  it('is asked again within the wait while an endless script keeps it busy, and grants when the script was killed', async () => {
    await using locker = await Locker.to(redis.url);
    await using busy = await ServerView.of(redis);
    const endless = rejection(busy.redis.eval('while true do end', 0));
    const error = await until('the server says BUSY', async () => {
      const failure = await locker.acquire('busy', { wait: 0 }).then(
        (lock) => lock.release(),
        (reason: unknown) => reason,
      );
      return failure as Error | undefined;
    });
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    expect(error.message).toContain('BUSY');
    const waiting = new Outcome(locker.acquire('busy', { wait: '15s' }));
    expect(await rejection(locker.acquire('busy too', { wait: 300 }))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(waiting.settled).toBe(false);
    await view.redis.script('KILL');
    await endless;
    await until('it got the lock', () => waiting.settled);
    expect(waiting.value!.isHeld).toBe(true);
    await waiting.value!.release();
  });

  // Fault 27: I1, I5 no error
  it('loses its scripts without an effect on callers: acquire, hand-off, renewal and release go on', async () => {
    await using locker = await Locker.to(redis.url);
    await using other = await Locker.to(redis.url);
    const flush = (): Promise<unknown> => view.redis.script('FLUSH');
    await flush();
    const lock = await locker.acquire('flushed', { lease: 1200, renew: true });
    const next = other.acquire('flushed', { wait: '15s' });
    await view.queued('flushed', 1);
    const { expiry } = (await view.holder('flushed'))!;
    await flush();
    await until('a renewal', async () => (await view.holder('flushed'))!.expiry > expiry);
    await flush();
    await lock.release();
    const second = await next;
    expect(second.fencingToken).toBeGreaterThan(lock.fencingToken);
    await flush();
    await second.release();
    expect(await view.holder('flushed')).toBeUndefined();
    expect([...locker.log.lines, ...other.log.lines]).toEqual([]);
  });

  describe('because something else is on the key', () => {
    // Fault 32: I3, I5 configuration
    it.each([
      ['a hash instead of the lock', 0, (key: string) => view.redis.hset(key, 'a', 'b')],
      ['a foreign string instead of the lock', 0, (key: string) => view.redis.set(key, 'mine')],
      ['a list instead of the queue', 1, (key: string) => view.redis.rpush(key, 'a')],
    ])('reports the lock with %s at once, and changes nothing', async (_, index, put) => {
      const name = uniqueName();
      await using locker = await Locker.to(redis.url);
      const key = keys.forLock(name)[index]!;
      await put(key);
      const before = await view.redis.dump(key);
      const error = await rejection(locker.acquire(name, { wait: '15s' }));
      expect(error).toMatchObject({ code: 'LOCK_CONFIGURATION', key: name });
      expect(error.message).toContain(name);
      expect(await view.redis.dump(key)).toEqual(before);
      await view.redis.del(key);
      await (await locker.acquire(name)).release();
    });

    // Fault 32: I5 lost
    it('is a loss for the holder whose lock was overwritten, and does not affect the locks renewed with it', async () => {
      const [overwritten, neighbour] = [uniqueName(), uniqueName()];
      await using locker = await Locker.to(redis.url);
      const lost = await locker.acquire(overwritten, { lease: 1500, renew: true });
      const kept = await locker.acquire(neighbour, { lease: 1500, renew: true });
      const { expiry } = (await view.holder(neighbour))!;
      const [key] = keys.forLock(overwritten);
      await view.redis.multi().del(key).hset(key, 'a', 'b').exec();
      await until('the loss', () => lost.signal.aborted);
      expect(lost.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      await until('the end of the first lease', () => Date.now() > expiry + 5);
      expect(kept.isHeld).toBe(true);
      await lost.release();
      await kept.release();
      expect(await view.redis.hgetall(key)).toEqual({ a: 'b' });
      await view.redis.del(key);
    });

    it('is reported to a waiter that is in the queue already, not treated as silence', async () => {
      const name = uniqueName();
      await using locker = await Locker.to(redis.url);
      await using other = await Locker.to(redis.url, { poll: 200 });
      const held = await locker.acquire(name);
      const waiting = rejection(other.acquire(name, { wait: '15s' }));
      await view.queued(name, 1);
      const [key] = keys.forLock(name);
      await view.redis.multi().del(key).hset(key, 'a', 'b').exec();
      expect(await waiting).toMatchObject({ code: 'LOCK_CONFIGURATION', key: name });
      await held.release();
      await view.redis.del(...keys.forLock(name));
    });
  });

  it('gets no more requests of a caller that gave up: its place in the queue ends, and it polls no more', async () => {
    const name = uniqueName();
    await using locker = await Locker.to(redis.url);
    await using other = await Locker.to(redis.url, { poll: 100 });
    const held = await locker.acquire(name);
    const abort = new AbortController();
    const waits = [
      other.acquire(name, { wait: '15s', signal: abort.signal }),
      other.acquire(name, { wait: '15s', signal: abort.signal, fairness: 'strict' }),
      other.acquire(name, { wait: 700, fairness: 'strict' }),
    ].map((waiting) => rejection(waiting));
    await view.queued(name, 3);
    abort.abort(new Error('enough'));
    expect((await waits[0]!).message).toBe('enough');
    expect((await waits[1]!).message).toBe('enough');
    expect(await waits[2]).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    // Their entries have ended by themselves, and they poll no more.
    await until('the queue is empty', async () => (await view.queue(name)).length === 0);
    await using monitor = await Monitor.of(view);
    const end = performance.now() + 300;
    await until('three polls would have come', () => performance.now() > end);
    await monitor.sync();
    expect(monitor.since(0)).toEqual([]);
    await held.release();
  });
});
