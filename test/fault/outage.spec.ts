import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { rejection, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { Locker, uniqueName } from './support/locker.js';
import { redisOfEachTest } from './support/one-redis.js';
import { keys } from './support/server-view.js';

describe('a Redis that stops, restarts, loads or hangs', () => {
  const start = redisOfEachTest();

  // Fault 12: I1, I2, I5 lost
  it('killed with the end of its journal torn off: the holder learns its loss, and tokens keep increasing', async () => {
    const { redis, view } = await start(['--appendonly', 'yes', '--appendfsync', 'always']);
    const name = uniqueName();
    await using holder = await Locker.to(redis.url);
    const resource = new GuardedResource();
    const held = await holder.acquire(name, { lease: 2000, renew: true });
    resource.write(held.fencingToken);
    await redis.kill();
    const directory = join(redis.directory, 'appendonlydir');
    const journal = join(
      directory,
      readdirSync(directory).find((file) => file.endsWith('.incr.aof'))!,
    );
    // In the middle of the acquire's own transaction.
    truncateSync(journal, statSync(journal).size - 20);
    await redis.start();
    expect(await view.holder(name)).toBeUndefined();
    await until('the holder knows of the loss', () => held.signal.aborted);
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    const lock = await holder.acquire(name, { wait: '15s' });
    expect(resource.write(lock.fencingToken)).toBe(true);
    expect(resource.write(held.fencingToken)).toBe(false);
    await held.release();
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });

  // Fault 13: I1, I3, I5 lost, unavailable
  it('down while a lease ends: the holder learns its loss by then, and the client recovers by itself', async () => {
    const { redis, view } = await start();
    const name = uniqueName();
    await using holder = await Locker.to(redis.url, { commandTimeout: 300 });
    const held = await holder.acquire(name, { lease: 1200, renew: true });
    const { expiry } = (await view.holder(name))!;
    await redis.kill();
    let heldAt = 0;
    await until('the loss', () => {
      const now = Date.now();
      if (held.isHeld) heldAt = now;
      return held.signal.aborted;
    });
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(heldAt).toBeLessThan(expiry);
    expect(await rejection(holder.acquire(`${name}:2`, { wait: '1m' }))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await redis.start();
    const lock = await until('a lock', () => holder.acquire(name).catch(() => undefined));
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
    await held.release();
    expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
    await lock.release();
  });

  // Fault 26: I3, I5 unavailable
  it('loading its data: calls reject as unavailable within the wait, and lock as soon as the data are loaded', async () => {
    const { redis, view } = await start(['--appendonly', 'yes', '--appendfsync', 'always']);
    const pipeline = view.redis.pipeline();
    for (let index = 0; index < 2000; index++) pipeline.set(`filler:${index}`, 'x'.repeat(100));
    await pipeline.exec();
    await using locker = await Locker.to(redis.url, { commandTimeout: 300 });
    redis.options.awaitLoading = false;
    const slow = ['--key-load-delay', '1500', '--loading-process-events-interval-bytes', '1024'];
    await redis.restart({ args: ['--appendonly', 'yes', '--appendfsync', 'always', ...slow] });
    const loading = async (): Promise<boolean> => (await view.redis.info('persistence')).includes('loading:1');
    const name = uniqueName();
    expect(await rejection(locker.acquire(name, { wait: 0 }))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await rejection(locker.acquire(name, { wait: '1m' }))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    // A client that starts in that time gets an error, and recovers by itself.
    await using young = new Locker(redis.url, { commandTimeout: 300 });
    expect(await rejection(young.client.start())).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await until('the data are loaded', async () => !(await loading()));
    for (const client of [locker, young]) {
      const lock = await until('a lock', () => client.acquire(name, { wait: 0 }).catch(() => undefined));
      await lock.release();
    }
  });

  describe('that stands still for a while', () => {
    it('executes an acquire late, but before its sender gave up on it: the ghost lock is released again', async () => {
      const { redis, view } = await start();
      const name = uniqueName();
      await using locker = await Locker.to(redis.url, { commandTimeout: 1000 });
      await using early = new Locker(redis.url, { commandTimeout: 300 });
      await early.client.start();
      // Aborted while the server is stopped: no caller wants the lock any more when the acquire is read.
      const abort = new AbortController();
      redis.pause();
      const refused = rejection(locker.acquire(name, { lease: '1m', wait: '10s', signal: abort.signal }));
      await new Promise((resolve) => setImmediate(resolve));
      abort.abort(new Error('changed my mind'));
      expect((await refused).message).toBe('changed my mind');
      redis.resume();
      const lock = await early.acquire(name, { wait: 0 }).catch(() => early.acquire(name, { wait: '10s' }));
      await until('nothing of the ghost is left', async () => (await view.queue(name)).length === 0);
      expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
      await lock.release();
      expect(await view.holder(name)).toBeUndefined();
    });

    // Fault 8: I1 (no token issued), I5 uncertain
    it('refuses an acquire that it reads after its sender gave up on it, so that no ghost holds the lock', async () => {
      const { redis, view } = await start();
      const name = uniqueName();
      await using locker = await Locker.to(redis.url, { commandTimeout: 300 });
      const [calls, register] = [await view.calls('evalsha'), await view.redis.get(keys.register)];
      redis.pause();
      expect(await rejection(locker.acquire(name, { lease: '1m' }))).toMatchObject({
        code: 'LOCK_UNAVAILABLE',
        uncertain: true,
      });
      // Later than the latest moment that the estimate of the server's clock allows: twice the time-out.
      const end = performance.now() + 900;
      await until('the question is too old', () => performance.now() > end);
      redis.resume();
      await until('the server has read it', async () => (await view.calls('evalsha')) > calls);
      // Granted, the register would have moved: it outlives the lock.
      expect(await view.redis.get(keys.register)).toBe(register);
      const lock = await until('a lock', () => locker.acquire(name, { wait: 0 }).catch(() => undefined));
      await lock.release();
    });
  });
});
