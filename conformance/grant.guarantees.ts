import type { ClaimRef } from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import type { Held, Party } from './party.js';
import { expect } from './expectations.js';
import { reached } from './time.js';

/** How a waiter learns that it was granted the lock. */
export function pushedGrants(bench: BackendBench): void {
  const { describe, it, inOrder, inQueue, join, joinHearing, unique } = bench;

  describe('a pushed grant', () => {
    /** The grant was pushed to `b` a moment ago; others wait behind it in the queue. */
    const handOver = async (
      lease: number,
      ...behind: Party[]
    ): Promise<{ name: string; b: Party; waiter: Held; others: ClaimRef[] }> => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const claim = await b.queue(name, { lease });
      const others: ClaimRef[] = [];
      for (const party of behind) others.push(await party.queue(name));
      await a.release(holder);
      const { fencingToken, validUntil, tokensUntil } = await b.pushed(claim);
      return {
        name,
        b,
        waiter: { ...claim, fencingToken, validUntil: validUntil!, tokensUntil, othersWait: false },
        others,
      };
    };

    inOrder(
      'is provisional: it lapses unless it is confirmed, and its claim keeps its place in the queue',
      async () => {
        const [c, d] = [await joinHearing(), await joinHearing()];
        const { b, waiter, others } = await handOver(80, c, d);
        const [behind, last] = others;
        const other = await c.untilGranted(behind!);
        expect(other.fencingToken).toBeGreaterThan(waiter.fencingToken);
        expect(await b.renew(waiter)).toBe('lost');
        expect(await b.ask(waiter)).toMatchObject({ status: 'queued' });
        await c.release(other);
        expect(await b.ask(waiter)).toMatchObject({ status: 'granted' });
        expect(d.grants.filter(({ id: claim }) => claim === last!.id)).toEqual([]);
      },
    );

    inOrder('lasts its full lease after a renewal has confirmed it', async () => {
      const { b, waiter } = await handOver(20_000);
      const confirmed = await b.renew(waiter, 20_000);
      expect(confirmed).toBeGreaterThan(waiter.validUntil + 20_000 - 2 * b.backend.claimWindow);
      expect(await b.ask(waiter)).toMatchObject({ status: 'granted', fencingToken: waiter.fencingToken });
    });

    inOrder('lasts its full lease after its claim has fetched it with an acquire, with the same token', async () => {
      const { b, waiter } = await handOver(20_000);
      const reply = await b.ask(waiter, { lease: 20_000 });
      expect(reply).toMatchObject({ status: 'granted', fencingToken: waiter.fencingToken });
      if (reply.status === 'granted') expect(reply.validUntil).toBeGreaterThan(waiter.validUntil + 10_000);
    });

    inOrder(
      'is not shortened by an acquire with a shorter lease: its message may have been received already (G1)',
      async () => {
        const { b, waiter } = await handOver(20_000);
        // Another caller has taken over the place in the queue, and its acquire and the message crossed.
        const reply = await b.ask(waiter, { lease: 500 });
        expect(reply).toMatchObject({ status: 'granted', fencingToken: waiter.fencingToken });
        if (reply.status === 'granted') expect(reply.validUntil).toBeGreaterThan(waiter.validUntil - 1_000);
      },
    );

    it('leaves the queue with its confirmation: after the lease its claim neither holds nor waits', async () => {
      const { name, b, waiter } = await handOver(300);
      expect(await b.renew(waiter, 310)).not.toBe('unanswered');
      const c = await join();
      const other = await c.untilGranted(c.claim(name));
      expect(await b.release(waiter)).toBe('absent');
      await c.release(other);
      await c.take(name, { enqueue: false });
    });

    inQueue('that is released before it is confirmed goes to the next waiter', async () => {
      const c = await joinHearing();
      const { b, waiter, others } = await handOver(20_000, c);
      expect(await b.release(waiter)).toBe('released');
      await c.pushed(others[0]!);
    });
  });

  describe('waiting without messages (G5)', () => {
    it('askAt lets a waiter get the lock of a holder that crashed', async () => {
      const [a, b] = [await join(), await join({ polling: true })];
      const name = unique();
      await a.take(name, { lease: 120 });
      const waiter = b.claim(name);
      let questions = 0;
      for (;;) {
        const reply = await b.ask(waiter);
        questions++;
        if (reply.status === 'granted') break;
        if (reply.status !== 'queued') throw new Error(reply.status);
        await reached(bench.time, reply.askAt);
      }
      // The first acquire, the one at the end of the lease, and at most one more for a timer that fired early.
      expect(questions).toBeLessThanOrEqual(4);
    });

    it('askAt is never later than `poll` from now', async () => {
      const [a, b] = [await join(), await join({ poll: 100 })];
      const name = unique();
      await a.take(name);
      const reply = await b.ask(b.claim(name));
      if (reply.status !== 'queued') throw new Error(reply.status);
      expect(reply.askAt - bench.time.now()).toBeLessThanOrEqual(100);
    });
  });
}
