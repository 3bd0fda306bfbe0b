import type { BackendBench } from './backend-bench.js';
import { expect } from './expectations.js';

/** Calls that are repeated, too late, or from another claim. */
export function repetition(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique } = bench;

  describe('repeated calls (G6)', () => {
    it('acquire of a holder returns the same grant again, not a longer one', async () => {
      const a = await join();
      const first = await a.take(unique(), { lease: 5_000 });
      const again = await a.ask(first, { lease: 20_000 });
      expect(again).toMatchObject({ status: 'granted', fencingToken: first.fencingToken });
      // Both are bounds of the same lease. They differ by the duration of the two round trips, and by rounding.
      if (again.status === 'granted') expect(again.validUntil).toBeLessThan(bench.time.now() + 5_000);
    });

    inOrder('acquire of a waiter keeps its place', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await b.queue(name);
      const second = await c.queue(name);
      for (let times = 0; times < 3; times++) await b.ask(first);
      await a.release(holder);
      await b.pushed(first);
      await b.release(first);
      await c.pushed(second);
      expect(b.grants.filter((grant) => grant.name === name)).toHaveLength(1);
    });

    it('release reports that, and changes nothing', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name);
      expect(await a.release(holder)).toBe('released');
      expect(await a.release(holder)).toBe('absent');
      const next = await b.take(name);
      expect(await a.release(holder)).toBe('absent');
      expect(await b.renew(next)).toBeTypeOf('number');
    });

    it('release of a lock that stays taken (minHold) reports that, and does not free it', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const waiting = await b.queue(name);
      expect(await a.release(holder, 10_000)).toBe('released');
      // As with a grant whose message arrives after its holder has fetched it, worked and released it.
      expect(await a.release(holder)).toBe('absent');
      expect(await b.ask(waiting)).toMatchObject({ status: 'queued' });
    });

    it('release of a waiter reports that, and changes nothing', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await b.queue(name);
      const second = await c.queue(name);
      expect(await b.release(first)).toBe('cancelled');
      expect(await b.release(first)).toBe('absent');
      await a.release(holder);
      await c.pushed(second);
    });

    it('renew returns a bound of the lease, and never moves its end forward in time', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name, { lease: 20_000 });
      const before = bench.time.now();
      expect(await a.renew(holder, 50)).toBeGreaterThan(before + 15_000);
      expect(await a.renew(holder, 50)).toBeGreaterThan(before + 15_000);
      const reply = await b.ask(b.claim(name), { enqueue: false });
      if (reply.status === 'contended') expect(reply.leaseLeft).toBeGreaterThan(15_000);
      expect(reply.status).toBe('contended');
    });

    it('acquire after a release of the same claim takes the lock again, with a larger token', async () => {
      const a = await join();
      const first = await a.take(unique());
      await a.release(first);
      const reply = await a.ask(first);
      expect(reply).toMatchObject({ status: 'granted' });
      if (reply.status === 'granted') expect(reply.fencingToken).toBeGreaterThan(first.fencingToken);
    });
  });

  describe('a stale holder (G7)', () => {
    /** `old` held the lock and its lease ran out, `next` holds it, `waiting` waits for it. */
    const stale = async () => {
      const [a, b, c] = [await join(), await join(), await joinHearing()];
      const name = unique();
      const old = await a.takeBriefly(name, 15);
      const next = await b.untilGranted(b.claim(name));
      const waiting = await c.queue(name);
      return { name, a, b, c, old, next, waiting };
    };

    it('releases nothing', async () => {
      const { a, b, c, old, next, waiting } = await stale();
      expect(await a.release(old)).toBe('absent');
      expect(await b.renew(next)).toBeTypeOf('number');
      expect(c.grants.filter(({ id: claim }) => claim === waiting.id)).toEqual([]);
    });

    it('renews nothing', async () => {
      const { a, b, old, next } = await stale();
      expect(await a.renew(old)).toBe('lost');
      expect(await b.ask(next)).toMatchObject({ status: 'granted', fencingToken: next.fencingToken });
    });

    it('renews nothing with the token of its former grant, even if the same claim holds again', async () => {
      const a = await join();
      const name = unique();
      const old = await a.take(name);
      await a.release(old);
      expect(await a.ask(old)).toMatchObject({ status: 'granted' });
      expect(await a.renew(old)).toBe('lost');
    });

    inOrder('is last in the queue when it asks again', async () => {
      const { a, b, c, old, next, waiting } = await stale();
      await a.reachable();
      expect(await a.ask(old)).toMatchObject({ status: 'queued' });
      await b.release(next);
      await c.pushed(waiting);
      await c.release(waiting);
      expect((await a.pushed(old)).fencingToken).toBeGreaterThan(next.fencingToken);
    });

    it('a claim that never asked releases and renews nothing', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name);
      const stranger = { ...b.claim(name), fencingToken: holder.fencingToken };
      expect(await b.release(stranger)).toBe('absent');
      expect(await b.renew(stranger)).toBe('lost');
      expect(await a.renew(holder)).toBeTypeOf('number');
    });

    it('a claim whose id is a prefix of the id of the holder releases and renews nothing', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const claim = a.claim(name);
      const longer = { name, id: `${claim.id}0` };
      const reply = await a.ask(longer);
      if (reply.status !== 'granted') throw new Error(reply.status);
      const { fencingToken } = reply;
      expect(await a.release(claim)).toBe('absent');
      expect(await a.renew({ ...claim, fencingToken })).toBe('lost');
      await b.queue(name);
      expect(await a.release(claim)).toBe('absent');
      expect(await a.renew({ ...longer, fencingToken })).toBeTypeOf('number');
    });
  });

  describe('renewal', () => {
    it('of many locks returns a result for each, in order, also when some are lost', async () => {
      const a = await join();
      const names = Array.from({ length: 30 }, unique);
      const holds = await Promise.all(names.map((name) => a.take(name)));
      const gone = new Set([0, 7, 29]);
      await Promise.all([...gone].map((index) => a.release(holds[index]!)));
      const before = bench.time.now();
      const replies = await a.backend.renew(holds.map((hold) => ({ ...hold, lease: 10_000, reserve: 0 })));
      expect(replies.map((reply) => (typeof reply === 'object' ? reply.validUntil > before : reply))).toEqual(
        holds.map((_, index) => (gone.has(index) ? 'lost' : true)),
      );
    });

    it('keeps waiters out for as long as it goes on', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name, { lease: 500 });
      const waiter = await b.queue(name);
      const { validUntil } = holder;
      // Renewed without a pause until several leases have passed. A waiter that asks all the time is not granted.
      while (bench.time.now() < validUntil + 500) {
        expect(await a.renew(holder, 500)).toBeTypeOf('number');
        expect(await b.ask(waiter)).toMatchObject({ status: 'queued' });
      }
      expect(b.grants.filter(({ id: claim }) => claim === waiter.id)).toEqual([]);
    });
  });

  describe('the end', () => {
    it('close() settles every pending call', async () => {
      const a = await join();
      const name = unique();
      const calls = Promise.allSettled([a.ask(a.claim(name)), a.ask(a.claim(name)), a.backend.renew([])]);
      await a.backend.close();
      expect(await calls).toHaveLength(3);
    });

    it('after close() every call rejects as unavailable, and renewals return unanswered', async () => {
      const a = await join();
      const holder = await a.take(unique());
      await a.backend.close();
      await expect(a.ask(a.claim(unique()))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await expect(a.release(holder)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(await a.renew(holder)).toBe('unanswered');
    });
  });
}
