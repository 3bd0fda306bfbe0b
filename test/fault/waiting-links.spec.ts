import { describe, expect, it } from '@jest/globals';
import { LockHandle } from '../support/backends.js';
import type { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { Outcome, rejection, until } from './support/conditions.js';
import { Locker, uniqueName } from './support/locker.js';
import { oneRedis } from './support/one-redis.js';
import { Monitor, type ServerView } from './support/server-view.js';
import { splitConnection } from './support/split-connection.js';

const COMMAND_TIMEOUT = 300;

describe('a waiter and a link that breaks, stalls or loses bytes', () => {
  let redis: RedisServer;
  let view: ServerView;
  oneRedis((started) => ({ redis, view } = started));

  // Fault 5: I1, I3 (before the ghost's lease is over), I5 uncertain
  it.each([
    ['and the connection is reset', (proxy: TcpProxy) => proxy.reset()],
    ['and no more bytes arrive', () => undefined],
  ])(
    'rejects as uncertain when the reply to an acquire is lost %s, and releases the ghost lock itself',
    async (_, then) => {
      const name = uniqueName();
      await using proxy = await TcpProxy.to(redis.port);
      await using locker = await Locker.to(proxy.url, { commandTimeout: COMMAND_TIMEOUT });
      await using other = await Locker.to(redis.url);
      proxy.dropReplies();
      const refused = rejection(locker.acquire(name, { lease: '1m' }));
      const ghost = await until('the server granted it', () => view.holder(name));
      const next = other.acquire(name, { wait: '15s' });
      await view.queued(name, 1);
      then(proxy);
      expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
      await proxy.heal();
      // Far earlier than the ghost's lease: its release was sent behind it and handed the lock on.
      const lock = await next;
      expect(lock.fencingToken).toBeGreaterThan(ghost.token);
      expect(lock.fencingToken).toBeLessThan(ghost.expiry * 1000);
      await lock.release();
    },
  );

  describe('of a subscription', () => {
    // Fault 30: I1, I3 (one message)
    it('makes a waiter ask again as soon as a killed subscription is back, and the release itself grants it the lock', async () => {
      const name = uniqueName();
      await using holder = await Locker.to(redis.url);
      await using waiter = await Locker.to(redis.url);
      const held = await holder.acquire(name);
      const next = waiter.acquire(name, { wait: '15s' });
      const [claim] = await view.queued(name, 1);
      await using monitor = await Monitor.of(view);
      await view.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await until('the waiter asked anew', () => monitor.since(0).includes('acquire'));
      expect(await view.queued(name, 1)).toEqual([claim]);
      await held.release();
      const lock = await next;
      await monitor.sync();
      expect(monitor.published).toEqual([claim]);
      expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
      await lock.release();
    });

    // Fault 30: I3
    it('lets a waiter get a lock by its poll that was freed while the subscription was down', async () => {
      const name = uniqueName();
      await using proxy = await TcpProxy.to(redis.port);
      await using holder = await Locker.to(redis.url);
      await using waiter = await Locker.to(splitConnection(redis.port, proxy.port), { poll: 400 });
      const held = await holder.acquire(name);
      const next = waiter.acquire(name, { wait: '15s' });
      await view.queued(name, 1);
      await proxy.refuse();
      proxy.reset();
      await until(
        'the subscription is gone',
        async () => (await view.listeners(LockHandle.holdOf(held).claim.id)) === 0,
      );
      await held.release();
      const lock = await next;
      expect(lock.isHeld).toBe(true);
      expect(proxy.connections).toBe(0);
      await lock.release();
    });

    // Fault 30: I1 (same token), I3
    it('lets a waiter fetch by its poll a grant that was sent to a half-open subscription, and replaces the subscription', async () => {
      const name = uniqueName();
      await using proxy = await TcpProxy.to(redis.port);
      await using holder = await Locker.to(redis.url);
      await using waiter = await Locker.to(splitConnection(redis.port, proxy.port), {
        poll: 1000,
        commandTimeout: COMMAND_TIMEOUT,
      });
      const held = await holder.acquire(name);
      const next = new Outcome(waiter.acquire(name, { wait: '15s' }));
      const [claim] = await view.queued(name, 1);
      proxy.swallow();
      await held.release();
      // The server counts a listener, so it hands the lock on; the message is gone.
      expect(await view.holder(name)).toMatchObject({ claim, state: 'provisional' });
      expect(next.settled).toBe(false);
      await until('the poll found the grant', () => next.settled);
      const lock = next.value!;
      expect(await view.holder(name)).toMatchObject({ claim, token: lock.fencingToken, state: 'full' });
      await lock.release();
      await proxy.heal();
    });

    it('is detected while a waiter waits, and replaced by a new one, also if the new one gets no reply at first', async () => {
      const name = uniqueName();
      await using proxy = await TcpProxy.to(redis.port);
      await using holder = await Locker.to(redis.url);
      await using waiter = await Locker.to(splitConnection(redis.port, proxy.port), {
        poll: 500,
        commandTimeout: COMMAND_TIMEOUT,
      });
      const held = await holder.acquire(name);
      const next = waiter.acquire(name, { wait: '15s' });
      const [claim] = await view.queued(name, 1);
      proxy.swallow();
      await until('the dead connection was replaced', () => proxy.accepted === 2);
      // The server has not noticed the end of the first one: only its own end shows it.
      expect(await view.listeners(claim!)).toBe(1);
      await view.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      expect(await view.listeners(claim!)).toBe(0);
      await proxy.heal();
      await until('the client listens again', async () => (await view.listeners(claim!)) === 1);
      await view.queued(name, 1);
      await held.release();
      await (await next).release();
    });
  });
});
