import { describe, expect, it } from '@jest/globals';
import { Outcome, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { LockProcess } from './support/lock-process.js';
import { Locker, uniqueName } from './support/locker.js';
import { redisOfEachTest } from './support/one-redis.js';

describe('a Redis that restarts while others wait', () => {
  const start = redisOfEachTest();

  // Fault 10: I1, I2, I3, I5 lost
  it('restarted empty: the holder learns its loss, the waiters of all processes get the lock one by one, and tokens keep increasing', async () => {
    const { redis, view } = await start();
    const name = uniqueName();
    const resource = new GuardedResource();
    await using holder = await Locker.to(redis.url);
    await using elsewhere = await LockProcess.start({ redis: redis.url });
    await using waiter = await Locker.to(redis.url);
    const held = await holder.acquire(name, { lease: 3000, renew: true });
    resource.write(held.fencingToken);
    const order: number[] = [];
    const turns = [
      elsewhere.acquire('lock', name, { wait: '15s' }).then(async ({ token }) => {
        order.push(token);
        expect(resource.write(token)).toBe(true);
        await elsewhere.release('lock');
      }),
      waiter.acquire(name, { wait: '15s' }).then(async (lock) => {
        order.push(lock.fencingToken);
        expect(resource.write(lock.fencingToken)).toBe(true);
        await lock.release();
      }),
    ];
    await view.queued(name, 2);
    await redis.restart({ empty: true });
    await Promise.all(turns);
    expect(order.toSorted((a, b) => a - b)).toEqual(order);
    expect(order[0]).toBeGreaterThan(held.fencingToken);
    await until('the holder knows of the loss', () => held.signal.aborted);
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    // I1, I2: the later writes of the late holder are refused.
    expect(resource.write(held.fencingToken)).toBe(false);
    await held.release();
    expect(await elsewhere.end()).toEqual({ code: 0, unhandled: [] });
  });

  // Fault 11: I1, I2, I5 no loss
  it('killed with its journal kept: lock and lease survive, the holder keeps renewing, and no waiter gets the lock', async () => {
    const { redis, view } = await start(['--appendonly', 'yes', '--appendfsync', 'always']);
    const name = uniqueName();
    await using holder = await Locker.to(redis.url);
    await using other = await Locker.to(redis.url);
    const held = await holder.acquire(name, { lease: 2500, renew: true });
    const waiting = new Outcome(other.acquire(name, { wait: '15s' }));
    const [claim] = await view.queued(name, 1);
    const before = (await view.holder(name))!;
    await redis.restart();
    expect(await view.holder(name)).toMatchObject({ claim: before.claim, token: held.fencingToken });
    expect(await view.queue(name)).toEqual([claim]);
    await until('a renewal after the restart', async () => (await view.holder(name))!.expiry > before.expiry);
    await until('the lease from before is over', () => Date.now() > before.expiry + 5);
    expect(held.isHeld).toBe(true);
    expect(waiting.settled).toBe(false);
    await view.queued(name, 1);
    await held.release();
    await until('the waiter got in', () => waiting.settled);
    expect(waiting.value!.fencingToken).toBeGreaterThan(held.fencingToken);
    await waiting.value!.release();
  });
});
