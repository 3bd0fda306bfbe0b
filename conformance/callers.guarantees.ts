import type { ClientBench } from './client-bench.js';
import { expect } from './expectations.js';
import { turn } from './time.js';

/** Callers of one process and of many. */
export function callers(bench: ClientBench): void {
  const { describe, it, inOrder, join, unique } = bench;
  /** For callers of one process that stand in the queue as one. */
  const asOne: typeof it = bench.fairness === 'handoff' ? it : () => undefined;

  describe('callers of many processes', () => {
    for (const fairness of ['handoff', 'strict'] as const) {
      it(`never hold one lock at once, and their tokens increase (${fairness})`, async () => {
        const all = await Promise.all(Array.from({ length: 3 }, () => join()));
        const name = unique();
        const tokens: number[] = [];
        let inside = 0;
        await Promise.all(
          Array.from({ length: 45 }, async (_, index) => {
            const lock = await all[index % all.length]!.acquire(name, { fairness, wait: '15s' });
            expect(++inside).toBe(1);
            tokens.push(lock.fencingToken);
            await turn(bench.time);
            expect(lock.isHeld).toBe(true);
            inside--;
            await lock.release();
          }),
        );
        expect(tokens).toHaveLength(45);
        expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      });
    }

    it('of different locks do not wait for each other', async () => {
      const [a, b] = [await join(), await join()];
      await a.acquire(unique());
      await b.acquire(unique(), { wait: 0 });
    });

    it("get a lock that its holder released without waiting for the answer (release: 'sent')", async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const first = await a.acquire(name, { release: 'sent' });
      const { lock } = await b.queue(name);
      await first.release();
      expect((await lock).fencingToken).toBeGreaterThan(first.fencingToken);
      expect(a.log.lines).toEqual([]);
    });

    it("get the lock of a process that died when that process's lease is over", async () => {
      const [dead, b] = [await join(), await join()];
      const name = unique();
      const lost = await dead.acquire(name, { lease: 500 });
      const { lock } = await b.queue(name);
      await dead.backend.close();
      expect((await lock).fencingToken).toBeGreaterThan(lost.fencingToken);
      expect(lost.isHeld).toBe(false);
    });

    it('get the lock even if no message ever reaches them', async () => {
      const [a, polling] = [await join(), await join({ polling: true })];
      const name = unique();
      const held = await a.acquire(name);
      const { lock } = await polling.queue(name);
      await held.release();
      await (await lock).release();
      await a.acquire(name, { wait: 0 });
    });
  });

  describe('the callers of one process', () => {
    asOne('wait in the queue as one claim, and are served in order of arrival', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.acquire(name);
      const order: number[] = [];
      const done = Array.from({ length: 20 }, async (_, index) => {
        const lock = await b.acquire(name);
        order.push(index);
        await lock.release();
      });
      await b.backend.until(() => b.backend.waiting(name) > 0);
      expect(new Set(b.backend.acquires.map(({ id }) => id)).size).toBe(1);
      await held.release();
      await Promise.all(done);
      expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
    });

    asOne(
      'share claims while no other process waits: 50 callers cost the backend at most 5 acquires and 5 releases',
      async () => {
        const a = await join();
        const name = unique();
        await Promise.all(
          Array.from({ length: 50 }, async () => {
            await (await a.acquire(name)).release();
          }),
        );
        await a.backend.until(() => a.backend.releases.every(({ reply }) => reply !== undefined));
        expect(a.backend.acquires.length).toBe(a.backend.releases.length);
        // Two are the rule: the first claim reserves no tokens. A slow machine can use up a token block or half a lease once more.
        expect(a.backend.acquires.length).toBeLessThanOrEqual(5);
        expect(a.backend.renewals.length).toBeLessThan(50);
      },
    );

    asOne('let another process have the lock after at most 16 of them', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const order: string[] = [];
      let other: Promise<void> | undefined;
      const first = await a.acquire(name);
      const callers = Array.from({ length: 20 }, async (_, index) => {
        const lock = await a.acquire(name);
        order.push(`a${index}`);
        // The other process begins to wait when the lock can be passed on inside this one already.
        if (index === 0) {
          const { lock: waiting } = await b.queue(name);
          other = waiting.then((granted) => {
            order.push('b');
            return granted.release();
          });
        }
        // The process learns from its next renewal that others wait. Before that reply it cannot know.
        await a.backend.until(() => a.backend.renewals.every(({ replies }) => replies !== undefined));
        await lock.release();
      });
      await first.release();
      await Promise.all(callers);
      await other;
      expect(order.indexOf('b')).toBeLessThanOrEqual(17);
      expect(order.filter((who) => who !== 'b')).toEqual(callers.map((_, index) => `a${index}`));
    });

    inOrder(
      'wait in the queue one by one with fairness strict: first come, first served over all processes',
      async () => {
        const [a, b, c] = [await join(), await join(), await join()];
        const name = unique();
        const held = await c.acquire(name);
        const order: string[] = [];
        const done: Array<Promise<void>> = [];
        for (const [member, who] of [
          [a, 'a1'],
          [b, 'b1'],
          [a, 'a2'],
          [a, 'a3'],
          [b, 'b2'],
        ] as const) {
          const { lock } = await member.queue(name, { fairness: 'strict' });
          done.push(
            lock.then((granted) => {
              order.push(who);
              return granted.release();
            }),
          );
        }
        await held.release();
        await Promise.all(done);
        expect(order).toEqual(['a1', 'b1', 'a2', 'a3', 'b2']);
      },
    );

    it('more than `maxWaiters` are refused at once, but only while that many wait: a free lock refuses no caller', async () => {
      const [a, b] = [await join(), await join({ maxWaiters: 1 })];
      const name = unique();
      const held = await a.acquire(name);
      const { lock: first } = await b.queue(name);
      await expect(b.acquire(name)).rejects.toMatchObject({ code: 'LOCK_QUEUE_FULL', key: name });
      const free = await Promise.all([b.acquire(unique()), b.acquire(unique())]);
      for (const lock of free) await lock.release();
      await held.release();
      await (await first).release();
      await (await b.acquire(name)).release();
    });
  });
}
