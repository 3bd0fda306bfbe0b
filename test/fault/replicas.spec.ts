import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readTicket, resolveAdoption, resolveOptions } from 'nestjs-redis-lock/backend';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { Outcome, rejection, until } from './support/conditions.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker, uniqueName } from './support/locker.js';
import { ServerView } from './support/server-view.js';

describe('locks that a replica must confirm', () => {
  const options = { replicas: { count: 1, timeout: 600 } };
  let redis: RedisServer;
  let replica: RedisServer;
  let view: ServerView;

  /** The replica has everything and has confirmed it, so it can confirm the next write in time. */
  const caughtUp = async (): Promise<void> => {
    await view.redis.set('written', 'now', 'PX', 1000);
    expect(await view.redis.wait(1, 10_000)).toBe(1);
  };

  beforeEach(async () => {
    const acl = ['user default on nopass ~* &* +@all', 'user unable on >secret ~lock:* &lock:* +@all -wait'].join('\n');
    redis = await startRedis({ acl, args: ['--repl-diskless-sync-delay', '0'] });
    replica = await startRedis({ args: ['--replicaof', redis.host, String(redis.port)] });
    view = await ServerView.of(redis);
    await caughtUp();
  });
  afterEach(async () => {
    await view[Symbol.asyncDispose]();
    await replica.stop();
    await redis.stop();
  });
  // After the hook above: the test's own connection is no leftover.
  expectNoLeftovers();

  // Fault 14: I1, I5 unavailable
  it('are released and rejected as unavailable when it does not confirm them, and granted when it does', async () => {
    const name = uniqueName();
    await using locker = await Locker.to(redis.url, options);
    replica.pause();
    const error = await rejection(locker.acquire(name, { wait: '15s' }));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false, key: name });
    expect(error.message).toContain('0 of 1 replicas confirmed that within 600 ms');
    expect(await view.holder(name)).toBeUndefined();
    replica.resume();
    await caughtUp();
    const lock = await locker.acquire(name);
    expect(lock.isHeld).toBe(true);
    await lock.release();
  });

  it('are all released when a request for several was not confirmed, and kept when it was (minHold)', async () => {
    const names = [uniqueName(), uniqueName(), uniqueName()];
    await using locker = await Locker.to(redis.url, options);
    const held = await Promise.all(names.map((name) => locker.acquire(name, { minHold: '20s' })));
    await Promise.all(held.map((lock) => lock.release()));
    expect(await Promise.all(names.map((name) => view.holder(name)))).toMatchObject(
      held.map(({ fencingToken }) => ({ token: fencingToken, state: 'kept' })),
    );
    const others = [uniqueName(), uniqueName(), uniqueName()];
    replica.pause();
    const asked = await view.calls('wait');
    const terms = resolveOptions({ minHold: '20s', wait: '15s' }, locker.client.defaults);
    const refused = await rejection(locker.client.acquire(others, terms));
    expect(refused).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    expect(await view.calls('wait')).toBe(asked + 1);
    // Not kept by minHold: no caller has held them.
    expect(await Promise.all(others.map((name) => view.holder(name)))).toEqual([undefined, undefined, undefined]);
    replica.resume();
  });

  // Fault 14: I5 unavailable
  it('need a confirmation also when the grant was sent over an earlier connection, whose reply was lost', async () => {
    const name = uniqueName();
    await using before = await Locker.to(redis.url);
    await using after = await Locker.to(redis.url, options);
    const request = {
      name,
      id: 'client:1',
      kind: 'exclusive' as const,
      permits: 1,
      limit: 0,
      lease: 20_000,
      reserve: 0,
      enqueue: false,
      giveUpAt: performance.now() + 15_000,
      again: false,
      isWanted: () => true,
    };
    replica.pause();
    expect(await before.backend.acquire(request)).toMatchObject({ status: 'granted' });
    const error = await rejection(after.backend.acquire(request));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    expect(await view.holder(name)).toBeUndefined();
    replica.resume();
  });

  it('cost one WAIT for all that are requested at once, and none for a release', async () => {
    await using locker = await Locker.to(redis.url, options);
    const asked = await view.calls('wait');
    const locks = await Promise.all(Array.from({ length: 50 }, () => locker.acquire(uniqueName())));
    expect(await view.calls('wait')).toBe(asked + 1);
    await Promise.all(locks.map((lock) => lock.release()));
    expect(await view.calls('wait')).toBe(asked + 1);
  });

  it('end when it does not confirm their renewals: the holder learns it by the end of its confirmed lease', async () => {
    const name = uniqueName();
    await using locker = await Locker.to(redis.url, options);
    const lock = await locker.acquire(name, { lease: 1500, renew: true });
    const { expiry } = (await view.holder(name))!;
    replica.pause();
    await until('the loss', () => lock.signal.aborted);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    // The master has executed the renewals, but they do not count.
    expect((await view.holder(name))?.expiry ?? expiry + 1).toBeGreaterThan(expiry);
    replica.resume();
    await lock.release();
  });

  it('are handed on to a waiter only when it confirms the grant, and otherwise released', async () => {
    const name = uniqueName();
    await using holder = await Locker.to(redis.url);
    await using waiter = await Locker.to(redis.url, options);
    const held = await holder.acquire(name);
    const waiting = new Outcome(waiter.acquire(name, { wait: '15s' }));
    await view.queued(name, 1);
    replica.pause();
    const asked = await view.calls('wait');
    await held.release();
    await until('it was asked, in vain', async () => (await view.calls('wait')) > asked + 1);
    expect(waiting.settled).toBe(false);
    replica.resume();
    await until('the waiter got in', () => waiting.settled);
    expect(waiting.value!.fencingToken).toBeGreaterThan(held.fencingToken);
    await waiting.value!.release();
  });

  it('are adopted only when it confirms the adoption, and otherwise released', async () => {
    await using before = await Locker.to(redis.url, options);
    await using after = await Locker.to(redis.url, options);
    const name = uniqueName();
    const [ticket, other] = [
      await (await before.acquire(name)).export(),
      await (await before.acquire(uniqueName())).export(),
    ];
    replica.pause();
    const terms = resolveAdoption({ wait: 0 }, after.client.defaults);
    const error = await rejection(after.client.adopt(readTicket(ticket), terms));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true, key: name });
    expect(error.message).toContain('0 of 1 replicas confirmed that within 600 ms');
    await until('it was given back', async () => (await view.holder(name)) === undefined);
    replica.resume();
    await caughtUp();
    const adopted = await after.client.adopt(readTicket(other), after.client.defaults);
    expect(adopted.isHeld).toBe(true);
    await adopted.release();
  });

  it('are reported at the start if there are too few replicas, and refused if WAIT is not permitted', async () => {
    await using locker = await Locker.to(redis.url, { replicas: { count: 2, timeout: 600 } });
    expect(locker.log.lines.join()).toMatch(/^\w+ 1 replicas of .* and 2 are required/);
    await using unable = new Locker(`redis://unable:secret@127.0.0.1:${redis.port}`, options);
    expect(await rejection(unable.client.start())).toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });
});
