import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { rejection, until } from './support/conditions.js';
import { GuardedResource } from './support/guarded-resource.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { LockProcess } from './support/lock-process.js';
import { Locker, uniqueName } from './support/locker.js';
import { ServerView } from './support/server-view.js';
import { SettableClock, whyNoSettableClock } from './support/settable-clock.js';

const why = whyNoSettableClock();
if (why !== undefined) console.warn(`SKIPPED: locks and clocks that are set (${why})`);
const describeHere = why === undefined ? describe : describe.skip;

describeHere('a wall clock that is set', () => {
  let clock: SettableClock;

  beforeEach(() => {
    clock = new SettableClock();
  });
  afterEach(() => clock[Symbol.dispose]());

  describe('at the server', () => {
    let redis: RedisServer;
    let view: ServerView;

    beforeEach(async () => {
      redis = await startRedis({ env: clock.env });
      view = await ServerView.of(redis);
    });
    afterEach(async () => {
      // Set back, the register lasts longer by as much.
      clock.set(0);
      await view.expectNothingLeft(180_000);
      await view[Symbol.asyncDispose]();
      await redis.stop();
    });
    expectNoLeftovers();

    // Fault 18: I1, I2, I5 lost
    it('a minute ahead ends leases early: the holder learns it at its next renewal, and tokens stay in order', async () => {
      const name = uniqueName();
      const resource = new GuardedResource();
      await using holder = await Locker.to(redis.url);
      await using other = await Locker.to(redis.url);
      const held = await holder.acquire(name, { lease: 3000, renew: true });
      resource.write(held.fencingToken);
      clock.set(60_000);
      const lock = await other.acquire(name, { wait: 0 });
      expect(resource.write(lock.fencingToken)).toBe(true);
      await until('the holder knows of the loss', () => held.signal.aborted);
      expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      expect(resource.write(held.fencingToken)).toBe(false);
      await held.release();
      // The release of the old holder did not touch the new one (G7).
      expect(await view.holder(name)).toMatchObject({ token: lock.fencingToken });
      expect(lock.isHeld).toBe(true);
      await lock.release();
    });

    // Fault 19: I1
    it('less than the guard window back keeps every token larger than the ones before', async () => {
      const [name, other] = [uniqueName(), uniqueName()];
      await using locker = await Locker.to(redis.url);
      const tokens: number[] = [];
      const take = async (lock: string): Promise<void> => {
        const { fencingToken, release } = await locker.acquire(lock).then((held) => ({
          fencingToken: held.fencingToken,
          release: () => held.release(),
        }));
        tokens.push(fencingToken);
        await release();
      };
      for (const offset of [0, 30_000, -25_000, -26_000, 0]) {
        clock.set(offset);
        await take(name);
        await take(other);
        await take(name);
      }
      expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
      // The register stays one key that expires.
      expect(await view.redis.keys('*')).toHaveLength(1);
      expect(await view.redis.pttl('lock:token-register')).toBeGreaterThan(0);
    });

    // Fault 19: I1, I3, I5 contended
    it('a minute back keeps the holder, bounds each wait by its own length, and hands on at the release', async () => {
      const name = uniqueName();
      await using holder = await Locker.to(redis.url);
      await using waiter = await Locker.to(redis.url);
      const held = await holder.acquire(name, { lease: 1500, renew: true });
      const next = waiter.acquire(name, { wait: '15s' });
      const [claim] = await view.queued(name, 1);
      clock.set(-60_000);
      expect(await rejection(waiter.acquire(name, { wait: 300, fairness: 'strict' }))).toMatchObject({
        code: 'LOCK_WAIT_TIMEOUT',
      });
      const end = performance.now() + 1600;
      await until('its first lease is over', () => performance.now() > end);
      expect(held.isHeld).toBe(true);
      expect(await view.queue(name)).toEqual([claim]);
      await held.release();
      const lock = await next;
      expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
      expect(lock.isHeld).toBe(true);
      await lock.release();
    });

    it('set between a grant and its message makes the client confirm the grant before it uses it', async () => {
      const name = uniqueName();
      await using holder = await Locker.to(redis.url);
      await using waiter = await Locker.to(redis.url);
      for (const step of [60_000, -60_000]) {
        clock.set(0);
        const held = await holder.acquire(name, { lease: 200_000 });
        const next = waiter.acquire(name, { wait: '15s', lease: 5000 });
        await view.queued(name, 1);
        clock.set(step);
        await held.release();
        const lock = await next;
        const { state, expiry } = (await view.holder(name))!;
        // Longer than the few seconds of a pushed grant: renewed, so counted from a request of this client.
        expect(state).toBe('full');
        const serverNow = (await view.now()) / 1000;
        expect(lock.leaseLeft).toBeLessThanOrEqual(expiry - serverNow + 5);
        await lock.release();
      }
    });
  });

  describe('at a client', () => {
    let redis: RedisServer;

    beforeEach(async () => {
      redis = await startRedis();
    });
    afterEach(() => redis.stop());
    expectNoLeftovers();

    // Fault 20: I1, I3, I5 contended
    it.each([
      ['an hour ahead', 3_600_000],
      ['an hour back', -3_600_000],
    ])(
      '%s has no effect: a held lock is renewed, a waiter waits no longer, tokens and leases are unchanged',
      async (_, step) => {
        const name = uniqueName();
        await using shifted = await LockProcess.start({ redis: redis.url, env: clock.env });
        await using straight = await Locker.to(redis.url);
        await using view = await ServerView.of(redis);
        const { token } = await shifted.acquire('lock', name, { lease: 1200, renew: true });
        const waiting = straight.acquire(name, { wait: '15s' });
        await view.queued(name, 1);
        const before = (await view.holder(name))!;
        clock.set(step);
        expect((await shifted.call<number>('wallClock')) - Date.now()).toBeCloseTo(step, -4);
        await until('two renewals', async () => (await view.holder(name))!.expiry > before.expiry + 500);
        expect((await view.holder(name))!.expiry).toBeLessThan(Date.now() + 1300);
        expect(await shifted.state('lock')).toMatchObject({ isHeld: true, aborted: false, token });
        await shifted.release('lock');
        const lock = await waiting;
        expect(lock.fencingToken).toBeGreaterThan(token);
        // And the other way round: the shifted process waits, times out, and is granted.
        await expect(shifted.acquire('none', name, { wait: 200 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
        const next = shifted.acquire('next', name, { wait: '15s' });
        await view.queued(name, 1);
        clock.set(0);
        await lock.release();
        expect((await next).token).toBeGreaterThan(lock.fencingToken);
        await shifted.release('next');
        expect(await shifted.end()).toEqual({ code: 0, unhandled: [] });
      },
    );
  });
});
