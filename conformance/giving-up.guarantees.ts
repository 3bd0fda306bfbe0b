import type { ClientBench } from './client-bench.js';
import { expect } from './expectations.js';

/** Callers that stop waiting, and callers that already hold the lock. */
export function givingUpAndReEntry(bench: ClientBench): void {
  const { describe, it, inOrder, join, unique } = bench;

  describe('a caller that gives up', () => {
    it('with wait 0 tries once, and gets the rest of the lease of the holder in `leaseLeft`', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.acquire(name, { lease: 5_000 });
      for (const member of [b, a]) {
        const error = await member.acquire(name, { wait: 0 }).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ name: 'LockNotAcquiredError', code: 'LOCK_CONTENDED', key: name });
        expect((error as { leaseLeft: number }).leaseLeft).toBeGreaterThan(0);
        expect((error as { leaseLeft: number }).leaseLeft).toBeLessThanOrEqual(5_000);
      }
    });

    it('after `wait` gets LOCK_WAIT_TIMEOUT, and leaves no claim in the queue', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const held = await a.acquire(name);
      await expect(b.acquire(name, { wait: 60 })).rejects.toMatchObject({
        name: 'LockWaitTimeoutError',
        code: 'LOCK_WAIT_TIMEOUT',
      });
      await b.backend.until(() => b.backend.releases.some(({ reply }) => reply === 'cancelled'));
      await held.release();
      await c.acquire(name, { wait: 0 });
    });

    it('by its signal gets the reason of the signal, and leaves no claim in the queue', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const held = await a.acquire(name);
      const abort = new AbortController();
      const { lock } = await b.queue(name, { signal: abort.signal });
      const reason = new Error('the user has left');
      abort.abort(reason);
      await expect(lock).rejects.toBe(reason);
      await b.backend.until(() => b.backend.releases.some(({ reply }) => reply === 'cancelled'));
      await held.release();
      await c.acquire(name, { wait: 0 });
    });

    it('before it started to wait sends nothing', async () => {
      const a = await join();
      const reason = new Error('gone');
      await expect(a.acquire(unique(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      expect(a.backend.requests).toBe(0);
    });

    it('while its acquire is being sent leaves no lock behind', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const abort = new AbortController();
      const lock = a.acquire(name, { signal: abort.signal });
      abort.abort();
      await expect(lock).rejects.toMatchObject({ name: 'AbortError' });
      await a.backend.until(() => a.backend.releases.some(({ reply }) => reply !== undefined));
      await b.acquire(name, { wait: 0 });
    });

    inOrder('leaves its place in the queue to the next caller of its process', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const held = await a.acquire(name);
      const abort = new AbortController();
      const { lock: first } = await b.queue(name, { signal: abort.signal });
      const second = b.acquire(name);
      const { lock: newcomer } = await c.queue(name);
      const order: string[] = [];
      abort.abort();
      await expect(first).rejects.toMatchObject({ name: 'AbortError' });
      await held.release();
      const served = second.then((lock) => {
        order.push('second');
        return lock.release();
      });
      await newcomer.then((lock) => {
        order.push('newcomer');
        return lock.release();
      });
      await served;
      expect(order).toEqual(['second', 'newcomer']);
    });

    it('after its lock was granted keeps the lock: the signal ends only the waiting', async () => {
      const a = await join();
      const abort = new AbortController();
      const lock = await a.acquire(unique(), { signal: abort.signal });
      abort.abort();
      expect(lock.isHeld).toBe(true);
      expect(lock.signal.aborted).toBe(false);
    });
  });

  describe('re-entry', () => {
    it('in a flow that holds the lock sends nothing, and the lock is released with the outermost scope', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const outer = await a.enter(name);
      const { requests } = a.backend;
      await outer.run(async () => {
        const inner = await a.enter(name);
        expect(inner.lock).toMatchObject({ depth: 2, fencingToken: outer.lock.fencingToken, isHeld: true });
        await inner.leave('worked');
        expect(outer.lock.isHeld).toBe(true);
        expect(inner.lock.isHeld).toBe(false);
      });
      expect(a.backend.requests).toBe(requests);
      await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await outer.leave('worked');
      await b.acquire(name, { wait: 0 });
    });

    it('is for the same flow only: another flow of the process waits', async () => {
      const a = await join();
      const name = unique();
      const outer = await a.enter(name);
      await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await outer.leave('worked');
    });
  });
}
