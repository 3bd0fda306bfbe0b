import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { RedisServer } from '../support/redis-server.js';
import { Outcome, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { LockProcess, type LockState } from './support/lock-process.js';
import { Locker, uniqueName } from './support/locker.js';
import { oneRedis } from './support/one-redis.js';
import { Monitor, type ServerView } from './support/server-view.js';

/** Longer than every lease in here, far shorter than the poll: a waiter that waits longer was forgotten. */
const WAIT = '15s';

describe('a process that dies, stops or hangs', () => {
  let redis: RedisServer;
  let view: ServerView;
  oneRedis((started) => ({ redis, view } = started));

  // Fault 35: I1, I2, I3 (one question after the lease's end)
  it.each([
    ['with a fixed lease', { lease: 1500, renew: false }],
    ['with a renewed lease', { lease: 1500, renew: true }],
  ])(
    'grants the lock when the lease of a killed holder %s has ended, not earlier and without a poll',
    async (_, options) => {
      const name = uniqueName();
      const resource = new GuardedResource();
      await using holder = await LockProcess.start({ redis: redis.url });
      await using waiter = await Locker.to(redis.url);
      await using monitor = await Monitor.of(view);
      const { token } = await holder.acquire('lock', name, options);
      resource.write(token);
      const next = waiter.acquire(name, { wait: WAIT });
      const [waiting] = await view.queued(name, 1);
      // A renewed lease is renewed at least once, so that the end that the waiter first learned is wrong.
      const before = await view.holder(name);
      if (options.renew) await until('a renewal', async () => (await view.holder(name))!.expiry > before!.expiry);
      await holder.kill();
      const { expiry } = (await view.holder(name))!;
      const lock = await next;
      // The token is the server's time at the grant, in µs: it was the end of the lease that let the waiter in.
      expect(lock.fencingToken).toBeGreaterThanOrEqual(expiry * 1000);
      expect(resource.write(lock.fencingToken)).toBe(true);
      expect(resource.write(token)).toBe(false);
      await monitor.sync();
      expect(monitor.published).toEqual([]);
      // Its first acquire after the end of the lease, and one for each end that it had learned before.
      const questions = monitor.runs.filter(({ claim }) => claim === waiting);
      expect(questions.filter(({ at }) => at >= expiry)).toHaveLength(1);
      expect(questions.length).toBeLessThanOrEqual(options.renew ? 4 : 3);
      await lock.release();
    },
  );

  it('grants the lock when the lease of a killed holder has ended, also if that holder got the lock after the waiter asked', async () => {
    const name = uniqueName();
    await using first = await Locker.to(redis.url, { poll: 60_000 });
    await using dying = await LockProcess.start({ redis: redis.url, poll: 60_000 });
    await using living = await Locker.to(redis.url, { poll: 60_000 });
    const held = await first.acquire(name);
    const handedOver = dying.acquire('lock', name, { wait: WAIT, lease: 1500 });
    await view.queued(name, 1);
    const next = living.acquire(name, { wait: WAIT });
    await view.queued(name, 2);
    await held.release();
    await handedOver;
    // Confirmed: now it has the whole lease that it requested.
    await until('the holder has confirmed', async () => (await view.holder(name))?.state === 'full');
    await dying.kill();
    const { expiry } = (await view.holder(name))!;
    const lock = await next;
    expect(lock.fencingToken).toBeGreaterThanOrEqual(expiry * 1000);
    await lock.release();
  });

  it('delays the others by one claim window for a stopped process, with any number of its callers waiting', async () => {
    const name = uniqueName();
    await using holder = await Locker.to(redis.url);
    await using stopped = await LockProcess.start({ redis: redis.url });
    await using living = await Locker.to(redis.url);
    const held = await holder.acquire(name);
    const callers = [1, 2, 3, 4];
    const sleeping = callers.map(
      (caller) => new Outcome(stopped.acquire(`lock${caller}`, name, { wait: '1m', fairness: 'strict' })),
    );
    const claims = await view.queued(name, 4);
    const next = living.acquire(name, { wait: WAIT });
    await view.queued(name, 5);
    await using monitor = await Monitor.of(view);
    stopped.worker.pause();
    await held.release();
    const lock = await next;
    await monitor.sync();
    expect(monitor.published).toEqual([claims[0]]);
    stopped.worker.resume();
    // They ask again, and get their places back.
    for (const claim of claims)
      await until('the woken waiter has asked', async () => (await view.standing(name, claim)) === 'listening');
    await lock.release();
    for (const [index, caller] of callers.entries()) {
      await until(`caller ${caller} got its turn`, () => sleeping[index]!.settled);
      await stopped.release(`lock${caller}`);
    }
    expect(await stopped.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 36: I1, I3 (one command between the holders)
  it('skips a waiter that was killed at the head of the queue: the release itself grants the lock to the next live one', async () => {
    const name = uniqueName();
    await using holder = await Locker.to(redis.url);
    await using dying = await LockProcess.start({ redis: redis.url, poll: 60_000 });
    await using living = await Locker.to(redis.url);
    const held = await holder.acquire(name);
    void dying.acquire('lock', name, { wait: WAIT }).catch(() => undefined);
    const [head] = await view.queued(name, 1);
    const next = living.acquire(name, { wait: WAIT });
    const [, second] = await view.queued(name, 2);
    await dying.kill();
    await until('the server knows that the waiter is gone', async () => (await view.listeners(head!)) === 0);
    await using monitor = await Monitor.of(view);
    await held.release();
    const lock = await next;
    await monitor.sync();
    // One command between the two holders, and the message is for the live one.
    expect(monitor.runs[0]).toMatchObject({ script: 'release' });
    expect(monitor.runs.slice(1).filter(({ script }) => script === 'acquire')).toEqual([]);
    expect(monitor.published).toEqual([second]);
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    // The entry of the dead waiter ends with the queue key: it has a heartbeat deadline.
    await lock.release();
    expect(await view.expireQueue(name)).toBe(true);
  });

  it('delays the others by at most its claim window for a stopped waiter, which uses no expired grant when it wakes up', async () => {
    const name = uniqueName();
    await using holder = await Locker.to(redis.url);
    await using stopped = await LockProcess.start({ redis: redis.url });
    await using living = await Locker.to(redis.url, { poll: 500 });
    const held = await holder.acquire(name);
    const sleeping = new Outcome(stopped.acquire('lock', name, { wait: '1m' }));
    const [head] = await view.queued(name, 1);
    const next = living.acquire(name, { wait: WAIT });
    await view.queued(name, 2);
    stopped.worker.pause();
    await held.release();
    // Its socket is open, so the server takes it for alive: a provisional grant.
    expect(await view.holder(name)).toMatchObject({ claim: head, state: 'provisional' });
    const lock = await next;
    const provisional = lock.fencingToken;
    stopped.worker.resume();
    // When it wakes up it finds the old message. It must confirm that grant first, and then learns that it is over.
    await until('the woken waiter has asked', async () => (await view.standing(name, head!)) === 'listening');
    expect(sleeping.settled).toBe(false);
    expect(lock.isHeld).toBe(true);
    expect(await view.queue(name)).toEqual([head]);
    await lock.release();
    await until('the woken waiter got its turn', () => sleeping.settled);
    expect(sleeping.value!.token).toBeGreaterThan(provisional);
    await stopped.release('lock');
    expect(await stopped.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 1: I1, I2, I3, I5 lost
  it('reports the loss to a holder that was stopped past its lease before its first await, and its writes are refused', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using sleeper = await LockProcess.start({ redis: redis.url });
    await using waiter = await Locker.to(redis.url);
    const { token } = await sleeper.acquire('lock', name, { lease: 1000 });
    resource.write(token);
    const file = join(redis.directory, name);
    const looked = sleeper.call<LockState>('lookWhenThere', { as: 'lock', file });
    await sleeper.event('blocked');
    sleeper.worker.pause();
    const lock = await waiter.acquire(name, { wait: WAIT });
    expect(resource.write(lock.fencingToken)).toBe(true);
    writeFileSync(file, '');
    sleeper.worker.resume();
    const state = await looked;
    expect(state).toEqual({ isHeld: false, aborted: true, code: 'LOCK_LOST', reason: 'expired', token });
    expect(lock.fencingToken).toBeGreaterThan(token);
    expect(resource.write(state.token)).toBe(false);
    // Its release must not free the lock of the next holder (G7).
    await sleeper.release('lock');
    expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
    expect(lock.isHeld).toBe(true);
    await lock.release();
    expect(await sleeper.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 1: I1, I3, I5 lost
  it('reports the loss to a renewed holder that slept past its lease, although its watchdog wakes up with it', async () => {
    const name = uniqueName();
    await using sleeper = await LockProcess.start({ redis: redis.url });
    await using waiter = await Locker.to(redis.url);
    const { token } = await sleeper.acquire('lock', name, { lease: 1000, renew: true });
    sleeper.worker.pause();
    const lock = await waiter.acquire(name, { wait: WAIT });
    sleeper.worker.resume();
    expect(await sleeper.event<LockState>('aborted')).toMatchObject({ isHeld: false, reason: 'expired', token });
    expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
    await sleeper.release('lock');
    await lock.release();
    expect(await sleeper.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 2: I1, I3, I5 lost
  it('reports the loss to a holder that blocked its own event loop past the lease, before its first await', async () => {
    const name = uniqueName();
    const resource = new GuardedResource();
    await using locker = await Locker.to(redis.url);
    const lock = await locker.acquire(name, { lease: 300, renew: true });
    const { signal } = lock;
    resource.write(lock.fencingToken);
    const { expiry } = (await view.holder(name))!;
    // The test's clock is the server's: same machine. The holder reports 'held' only before the server's end of the lease.
    let heldAt = 0;
    for (let now = Date.now(); now < expiry + 20; now = Date.now()) if (lock.isHeld) heldAt = now;
    expect(heldAt).toBeGreaterThan(0);
    expect(heldAt).toBeLessThan(expiry);
    expect(lock.isHeld).toBe(false);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
    const next = await locker.acquire(name, { wait: WAIT });
    expect(resource.write(next.fencingToken)).toBe(true);
    expect(resource.write(lock.fencingToken)).toBe(false);
    await lock.release();
    expect(await view.holder(name)).toMatchObject({ token: next.fencingToken });
    await next.release();
  });

  it('releases the locks of a process and removes its waiters when it gets SIGTERM', async () => {
    const name = uniqueName();
    await using ending = await LockProcess.start({ redis: redis.url });
    await using other = await Locker.to(redis.url);
    await ending.acquire('first', name);
    const held = await other.acquire(`${name}:held`);
    const waiting = ending.acquire('second', `${name}:held`, { wait: '1m' });
    const refused = waiting.catch((error: unknown) => error);
    await view.queued(`${name}:held`, 1);
    const next = other.acquire(name, { wait: WAIT });
    await view.queued(name, 1);
    expect(await ending.end()).toEqual({ code: 0, unhandled: [] });
    expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await view.queue(`${name}:held`)).toEqual([]);
    await (await next).release();
    await held.release();
  });
});
