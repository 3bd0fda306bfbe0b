import type { ClientBench } from './client-bench.js';
import { expect } from './expectations.js';

/** Callers of one process and of many. */
export function callers(bench: ClientBench): void {
  const { describe, it, inOrder, join, unique, maxLocalHandoffs } = bench;

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
            await new Promise((resolve) => setImmediate(resolve));
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

    it("get the lock of a process that died when that process's lease is over", async () => {
      const [dead, b] = [await join(), await join()];
      const name = unique();
      const lost = await dead.acquire(name, { lease: 500 });
      const { lock } = await b.queue(name);
      await dead.backend.close();
      expect((await lock).fencingToken).toBeGreaterThan(lost.fencingToken);
      expect(lost.isHeld).toBe(false);
    });

    it('get the lock though no message ever reaches them', async () => {
      const [a, deaf] = [await join(), await join({ deaf: true })];
      const name = unique();
      const held = await a.acquire(name);
      const { lock } = await deaf.queue(name);
      await held.release();
      await (await lock).release();
      await a.acquire(name, { wait: 0 });
    });
  });

  describe('the callers of one process', () => {
    it('stand in the queue as one claim, and are served in order of arrival', async () => {
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
      expect(new Set(b.backend.acquires.map(({ claim }) => claim)).size).toBe(1);
      await held.release();
      await Promise.all(done);
      expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
    });

    if (maxLocalHandoffs > 0) {
      it('cost the backend one question and one release, whatever their number, while nobody else waits', async () => {
        const a = await join();
        const name = unique();
        await Promise.all(
          Array.from({ length: 50 }, async () => {
            await (await a.acquire(name)).release();
          }),
        );
        await a.backend.until(() => a.backend.releases.every(({ reply }) => reply !== undefined));
        expect(a.backend.acquires.length).toBe(a.backend.releases.length);
        // A token block that ran out, or a slow machine that used up half a lease, costs a new claim; 50 claims would be none shared.
        expect(a.backend.acquires.length).toBeLessThanOrEqual(2);
        expect(a.backend.renewals.length).toBeLessThan(50);
      });
    }

    /**
     * Seven callers of one process after another; another process begins to wait while the first of them holds the lock, which
     * by then can be passed on in the process. Answers the order in which they were served.
     */
    const crowd = async (maxLocalHandoffs: number): Promise<string[]> => {
      const [a, b] = [await join({ maxLocalHandoffs }), await join()];
      const name = unique();
      const order: string[] = [];
      let other: Promise<void> | undefined;
      const first = await a.acquire(name);
      const callers = Array.from({ length: 7 }, async (_, index) => {
        const lock = await a.acquire(name);
        order.push(`a${index}`);
        if (index === 0) {
          const { lock: waiting } = await b.queue(name);
          other = waiting.then((granted) => {
            order.push('b');
            return granted.release();
          });
        }
        // The process learns who waits from the renewal beside; until it is answered it cannot know.
        await a.backend.until(() => a.backend.renewals.every(({ replies }) => replies !== undefined));
        await lock.release();
      });
      await first.release();
      await Promise.all(callers);
      await other;
      return order;
    };

    it('let another process in after at most `maxLocalHandoffs` of them', async () => {
      const order = await crowd(2);
      expect(order.indexOf('b')).toBeLessThanOrEqual(3);
      expect(order.filter((who) => who !== 'b')).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    });

    inOrder('never pass the lock on among themselves with `maxLocalHandoffs` 0', async () => {
      expect(await crowd(0)).toEqual(['a0', 'b', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    });

    inOrder(
      'stand in the queue one by one with fairness strict: first come, first served over all processes',
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

    it('more than `maxWaiters` are refused at once, and only while that many wait: a free lock is no waiting', async () => {
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
