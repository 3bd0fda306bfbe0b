import { aborted, type ClientBench } from './client-bench.js';
import { expect } from './expectations.js';
import { turn } from './time.js';

/** Callers that share a lock: readers and writers, and permits. */
export function sharing(bench: ClientBench): void {
  const { describe, it, inOrder, join, unique, capabilities } = bench;
  describe('readers and writers of many processes', () => {
    it('exclude each other: any number of readers or one writer; all are served, and tokens increase in the order of the grants', async () => {
      const all = await Promise.all(Array.from({ length: 3 }, () => join()));
      const name = unique();
      let [readers, writers, most, lastWriter] = [0, 0, 0, 0];
      await Promise.all(
        Array.from({ length: 45 }, async (_, index) => {
          const shared = index % 5 !== 4;
          const lock = await all[index % all.length]!.acquire(name, { shared, wait: '15s' });
          if (shared) readers++;
          else writers++;
          most = Math.max(most, readers);
          expect(writers).toBeLessThanOrEqual(1);
          expect(readers * writers).toBe(0);
          expect(lock.fencingToken).toBeGreaterThan(lastWriter);
          if (!shared) lastWriter = lock.fencingToken;
          await turn(bench.time);
          expect(lock.isHeld).toBe(true);
          if (shared) readers--;
          else writers--;
          await lock.release();
        }),
      );
      expect(most).toBeGreaterThan(1);
    });

    inOrder('are served in turn: a writer gets the lock even if readers never stop coming', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      let isWritten = false;
      let reads = 0;
      const readOn = async (member: typeof a): Promise<void> => {
        let held = await member.acquire(name, { shared: true, wait: '15s' });
        while (!isWritten) {
          reads++;
          // The next reader comes before the last has left, so there is always a reader.
          const next = member.acquire(name, { shared: true, wait: '15s' });
          const soon = await Promise.race([next, turn(bench.time)]);
          await held.release();
          held = soon ?? (await next);
        }
        await held.release();
      };
      const reading = [readOn(a), readOn(b), readOn(a)];
      while (reads < 10) await turn(bench.time);
      const lock = await c.acquire(name, { wait: '15s' });
      isWritten = true;
      await lock.release();
      await Promise.all(reading);
    });

    it('lose only their own share: a reader whose lease ran out learns it, and the others go on', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lost = await a.acquire(name, { shared: true, lease: 500 });
      const kept = await a.acquire(name, { shared: true });
      const { lock: writer } = await b.queue(name);
      await aborted(lost);
      expect(lost.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      expect(kept.isHeld).toBe(true);
      await kept.release();
      expect((await writer).fencingToken).toBeGreaterThan(kept.fencingToken);
    });

    it('wait until a writer, and the callers before them, have gone; then several get in at once, without a poll', async () => {
      const [a, b, c] = [await join({ poll: 60_000 }), await join({ poll: 60_000 }), await join({ poll: 60_000 })];
      const name = unique();
      const first = await a.acquire(name);
      const { lock: second } = await b.queue(name, { wait: '15s' });
      const readers = [];
      for (const member of [b, c, c]) readers.push((await member.queue(name, { shared: true, wait: '15s' })).lock);
      await first.release();
      await (await second).release();
      const locks = await Promise.all(readers);
      expect(locks.map(({ isHeld }) => isHeld)).toEqual([true, true, true]);
      await Promise.all(locks.map((lock) => lock.release()));
      await a.acquire(name, { wait: 0 });
    });

    it('stop waiting by their signal or after `wait`, and leave nothing behind', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const writer = await a.acquire(name);
      const abort = new AbortController();
      const { lock } = await b.queue(name, { shared: true, signal: abort.signal });
      abort.abort(new Error('gone'));
      await expect(lock).rejects.toMatchObject({ message: 'gone' });
      await expect(b.acquire(name, { shared: true, wait: 60 })).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
      await expect(b.acquire(name, { shared: true, wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await b.backend.until(() => b.backend.releases.filter(({ reply }) => reply === 'cancelled').length === 2);
      await writer.release();
      await a.acquire(name, { wait: 0 });
    });

    it('read several names beside other readers, in any order, and wait for a writer of any of them', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const [first, second] = [`${unique()}:1`, `${unique()}:2`];
      const one = await a.acquire([second, first], { shared: true });
      const two = await b.acquire([first, second], { shared: true, wait: 0 });
      await one.release();
      const { lock: writer } = await c.queue(second);
      await expect(a.acquire([first, second], { shared: true, wait: 0 })).rejects.toMatchObject({ key: second });
      await two.release();
      const written = await writer;
      const three = a.acquire([first, second], { shared: true, wait: '15s' });
      await a.backend.until(() => a.backend.waiting(second) > 0);
      await written.release();
      await (await three).release();
      await c.acquire([first, second], { wait: 0 });
    });
  });

  if (capabilities.permits) permitsOf(bench);

  describe('a flow that shares a lock', () => {
    it('may read a lock that it already writes or reads, without a request', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      for (const outer of [{}, { shared: true }]) {
        const scope = await a.enter(name, outer);
        const { requests } = a.backend;
        await scope.run(async () => {
          const inner = await a.enter(name, { shared: true });
          expect(inner.lock).toMatchObject({ depth: 2, fencingToken: scope.lock.fencingToken });
          await inner.leave('worked');
        });
        expect(a.backend.requests).toBe(requests);
        await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
        await scope.leave('worked');
      }
    });

    it('is refused at once when it requests more than it has, and nothing is sent, also for several names', async () => {
      const a = await join();
      const [name, other] = [unique(), unique()];
      const refusals: Array<[object, object, string]> = [
        [{ shared: true }, {}, 'LOCK_UPGRADE'],
        [{}, { limit: 3 }, 'LOCK_KIND_MISMATCH'],
      ];
      if (capabilities.permits) {
        refusals.push([{ limit: 3, permits: 2 }, { limit: 3, permits: 3 }, 'LOCK_UPGRADE']);
        refusals.push([{ limit: 3 }, {}, 'LOCK_KIND_MISMATCH']);
      }
      for (const [outer, inner, code] of refusals) {
        const scope = await a.enter(name, outer);
        const { requests } = a.backend;
        await scope.run(async () => {
          await expect(a.acquire(name, inner)).rejects.toMatchObject({ code, key: name });
          await expect(a.acquire([other, name], inner)).rejects.toMatchObject({ code, key: name });
        });
        expect(a.backend.requests).toBe(requests);
        expect(scope.lock.isHeld).toBe(true);
        await scope.leave('worked');
      }
    });
  });
}

function permitsOf(bench: ClientBench): void {
  const { describe, it, join, unique } = bench;
  describe('permits of many processes', () => {
    it('never exceed the limit, with any number of permits per call, and every call is served', async () => {
      const all = await Promise.all(Array.from({ length: 3 }, () => join()));
      const name = unique();
      const limit = 5;
      let [inUse, most] = [0, 0];
      await Promise.all(
        Array.from({ length: 45 }, async (_, index) => {
          const permits = 1 + (index % 3);
          const lock = await all[index % all.length]!.acquire(name, { limit, permits, wait: '15s' });
          most = Math.max(most, (inUse += permits));
          expect(inUse).toBeLessThanOrEqual(limit);
          await turn(bench.time);
          expect(lock.isHeld).toBe(true);
          inUse -= permits;
          await lock.release();
        }),
      );
      expect(most).toBeGreaterThan(3);
      const all5 = await all[0]!.acquire(name, { limit, permits: limit, wait: 0 });
      await all5.release();
    });

    it('of a process that died are free when its lease is over', async () => {
      const [dead, b] = [await join(), await join()];
      const name = unique();
      const lost = await dead.acquire(name, { limit: 2, permits: 2, lease: 500 });
      const { lock } = await b.queue(name, { limit: 2 });
      await dead.backend.close();
      expect((await lock).fencingToken).toBeGreaterThan(lost.fencingToken);
      expect(lost.isHeld).toBe(false);
    });

    it('and exclusive or shared use of one name refuse each other, also for a single try', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const permit = await a.acquire(name, { limit: 2 });
      for (const options of [{}, { wait: 0 }, { shared: true }]) {
        await expect(b.acquire(name, options)).rejects.toMatchObject({ code: 'LOCK_KIND_MISMATCH', key: name });
      }
      expect(permit.isHeld).toBe(true);
      await permit.release();
      const lock = await b.acquire(name);
      await expect(a.acquire(name, { limit: 2 })).rejects.toMatchObject({ code: 'LOCK_KIND_MISMATCH', key: name });
      await lock.release();
    });

    it('re-enters for at most the permits that it has, and does not wait for itself', async () => {
      const a = await join();
      const name = unique();
      const scope = await a.enter(name, { limit: 2, permits: 2 });
      const { requests } = a.backend;
      await scope.run(async () => {
        for (const permits of [1, 2]) await (await a.acquire(name, { limit: 2, permits })).release();
      });
      expect(a.backend.requests).toBe(requests);
      await scope.leave('worked');
    });
  });
}
