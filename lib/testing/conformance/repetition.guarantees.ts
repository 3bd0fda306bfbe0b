import type { BackendBench } from './backend-bench.js';
import { expect } from './expectations.js';

/** Calls that come again, too late, or from somebody else. */
export function repetition(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique } = bench;

  describe('repeated calls (G6)', () => {
    it('acquire of a holder answers the same grant again, not a longer one', async () => {
      const a = await join();
      const first = await a.take(unique(), { lease: 5_000 });
      const again = await a.ask(first, { lease: 20_000 });
      expect(again).toMatchObject({ status: 'granted', fencingToken: first.fencingToken });
      // Both bounds are of one lease; they differ by what the two round trips took, and by rounding.
      if (again.status === 'granted') expect(again.validUntil).toBeLessThan(performance.now() + 5_000);
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

    it('release says so and changes nothing', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name);
      expect(await a.release(holder)).toBe('released');
      expect(await a.release(holder)).toBe('absent');
      const next = await b.take(name);
      expect(await a.release(holder)).toBe('absent');
      expect(await b.renew(next)).toBeTypeOf('number');
    });

    it('release of a waiter says so and changes nothing', async () => {
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

    it('renew answers a bound of the same lease, and never brings the end forward', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name, { lease: 20_000 });
      const before = performance.now();
      expect(await a.renew(holder, 50)).toBeGreaterThan(before + 15_000);
      expect(await a.renew(holder, 50)).toBeGreaterThan(before + 15_000);
      const reply = await b.ask(b.claim(name), { enqueue: false });
      if (reply.status === 'contended') expect(reply.rest).toBeGreaterThan(15_000);
      expect(reply.status).toBe('contended');
    });

    it('acquire after a release of the same claim takes the lock anew, with a larger token', async () => {
      const a = await join();
      const first = await a.take(unique());
      await a.release(first);
      const reply = await a.ask(first);
      expect(reply).toMatchObject({ status: 'granted' });
      if (reply.status === 'granted') expect(reply.fencingToken).toBeGreaterThan(first.fencingToken);
    });
  });

  describe('a stale holder (G7)', () => {
    /** `old` held the lock, its lease ran out, `next` holds it, `waiting` stands behind. */
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
      expect(c.grants.filter(({ claim }) => claim === waiting.claim)).toEqual([]);
    });

    it('renews nothing', async () => {
      const { a, b, old, next } = await stale();
      expect(await a.renew(old)).toBe('lost');
      expect(await b.ask(next)).toMatchObject({ status: 'granted', fencingToken: next.fencingToken });
    });

    it('renews nothing with the token of its former grant, though the same claim holds again', async () => {
      const a = await join();
      const name = unique();
      const old = await a.take(name);
      await a.release(old);
      expect(await a.ask(old)).toMatchObject({ status: 'granted' });
      expect(await a.renew(old)).toBe('lost');
    });

    inOrder('stands at the end when it asks again', async () => {
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
  });

  describe('renewal', () => {
    it('of many locks answers for each in order, also when some are lost', async () => {
      const a = await join();
      const names = Array.from({ length: 30 }, unique);
      const holds = await Promise.all(names.map((name) => a.take(name)));
      const gone = new Set([0, 7, 29]);
      await Promise.all([...gone].map((index) => a.release(holds[index]!)));
      const before = performance.now();
      const replies = await a.backend.renew(holds.map((hold) => ({ ...hold, lease: 10_000, reserve: 0 })));
      expect(replies.map((reply) => (typeof reply === 'object' ? reply.validUntil > before : reply))).toEqual(
        holds.map((_, index) => (gone.has(index) ? 'lost' : true)),
      );
    });

    it('keeps the lock from the waiters for as long as it goes on', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name, { lease: 500 });
      const waiter = await b.queue(name);
      const { validUntil } = holder;
      // Renewed without a pause until several leases have passed; a waiter that asks all the time gets nothing.
      while (performance.now() < validUntil + 500) {
        expect(await a.renew(holder, 500)).toBeTypeOf('number');
        expect(await b.ask(waiter)).toMatchObject({ status: 'queued' });
      }
      expect(b.grants.filter(({ claim }) => claim === waiter.claim)).toEqual([]);
    });
  });

  describe('the end', () => {
    it('close() settles every call that is under way', async () => {
      const a = await join();
      const name = unique();
      const calls = Promise.allSettled([a.ask(a.claim(name)), a.ask(a.claim(name)), a.backend.renew([])]);
      await a.backend.close();
      expect(await calls).toHaveLength(3);
    });

    it('after close() every call rejects as unavailable, and renewals are unanswered', async () => {
      const a = await join();
      const holder = await a.take(unique());
      await a.backend.close();
      await expect(a.ask(a.claim(unique()))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await expect(a.release(holder)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(await a.renew(holder)).toBe('unanswered');
    });
  });
}
