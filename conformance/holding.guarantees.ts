import { aborted, type ClientBench } from './client-bench.js';
import { expect, thrownBy } from './expectations.js';

/** A held lock: its loss, its renewal, its end. */
export function holding(bench: ClientBench): void {
  const { describe, it, join, unique } = bench;
  /** The tokens of two holders are so far apart (µs of the backend's time), where they have a date. */
  const apart = (microseconds: number): number => (bench.capabilities.dated ? microseconds : 1);

  describe('a lock that is lost', () => {
    it('because its lease ran out reports the loss before another caller gets it', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 800 });
      const { signal } = lock;
      let said = 0;
      signal.addEventListener('abort', () => said++);
      const { lock: next } = await b.queue(name);
      await next;
      expect(signal.aborted).toBe(true);
      expect(said).toBe(1);
      expect(signal.reason).toMatchObject({ name: 'LockLostError', code: 'LOCK_LOST', reason: 'expired', key: name });
      expect(lock).toMatchObject({ isHeld: false, leaseLeft: 0 });
      expect(thrownBy(() => lock.assertHeld())).toBe(signal.reason);
      await expect(lock.renew()).rejects.toBe(signal.reason);
      await lock.release();
      expect((await next).isHeld).toBe(true);
      expect(a.log.lines.filter((line) => line.startsWith('error'))).toHaveLength(1);
    });

    it('rejects work that succeeded, unless a loss only warns; an error of the work is never replaced', async () => {
      const a = await join();
      const work = async (onLost: 'throw' | 'warn', outcome: 'worked' | 'failed', fails: boolean): Promise<void> => {
        const scope = await a.enter(unique(), { lease: 500, onLost });
        await aborted(scope.lock);
        if (fails) await expect(scope.leave(outcome)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
        else await scope.leave(outcome);
      };
      await Promise.all([work('throw', 'worked', true), work('warn', 'worked', false), work('throw', 'failed', false)]);
    });

    it('refuses a re-entry', async () => {
      const a = await join();
      const name = unique();
      const scope = await a.enter(name, { lease: 500 });
      await aborted(scope.lock);
      await scope.run(() => expect(a.enter(name)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' }));
      await scope.leave('failed');
    });

    it('because the backend forgot it aborts the signal at the next renewal', async () => {
      const [a, thief] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 2_400, renew: true });
      // Takes the lock away by force: here with the claim's own id.
      await thief.backend.release(a.backend.acquires[0]!);
      expect(await aborted(lock)).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      await thief.acquire(name, { wait: 0 });
    });

    it('because the backend forgot it is detected by its release', async () => {
      const [a, thief] = [await join(), await join()];
      const scope = await a.enter(unique());
      await thief.backend.release(a.backend.acquires[0]!);
      await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    });
  });

  describe('renewal', () => {
    it('keeps a lock beyond its lease while its work runs', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 1_800, renew: true });
      const { lock: next } = await b.queue(name);
      // One renewal every third of the lease.
      await Promise.race([a.backend.until(() => a.backend.renewals.length >= 4), aborted(lock)]);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      expect((await next).fencingToken).toBeGreaterThan(lock.fencingToken);
    });

    it('of a fixed lease happens only when the holder calls it', async () => {
      const a = await join();
      const lock = await a.acquire(unique(), { lease: 1_000 });
      await lock.renew(10_000);
      expect(lock.leaseLeft).toBeGreaterThan(1_000);
      expect(a.backend.renewals).toHaveLength(1);
    });

    it('ends at maxHold: the signal aborts, and the lock expires', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 1_500, renew: true, maxHold: 700 });
      const { lock: next } = await b.queue(name);
      expect(await aborted(lock)).toMatchObject({ code: 'LOCK_LOST', reason: 'max-hold' });
      const { length } = a.backend.renewals;
      await next;
      expect(a.backend.renewals).toHaveLength(length);
    });

    it('with minHold goes to no other caller before that time is over, even if the work was quick and its process has ended', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { minHold: 2_000 });
      await lock.release();
      expect(lock.isHeld).toBe(false);
      // Neither to another caller of the same process, nor to another process.
      for (const member of [a, b]) {
        await expect(member.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      }
      await a.client.shutdown(0);
      const next = await b.acquire(name, { wait: '15s' });
      expect(next.fencingToken).toBeGreaterThanOrEqual(lock.fencingToken + apart(1_900_000));
      await next.release();
    });

    it('with minHold goes to the waiters of other processes one by one as each hold ends, without a poll', async () => {
      const poll = 60_000;
      const members = await Promise.all(Array.from({ length: 4 }, () => join({ poll })));
      const name = unique();
      const options = { minHold: 300, wait: '15s' } as const;
      const lock = await members[0]!.acquire(name, options);
      const others = [];
      for (const member of members.slice(1)) others.push((await member.queue(name, options)).lock);
      await lock.release();
      const tokens = [lock.fencingToken];
      // In any order: a backend need not have a queue.
      await Promise.all(
        others.map(async (other) => {
          const next = await other;
          tokens.push(next.fencingToken);
          await next.release();
        }),
      );
      for (const [index, token] of tokens.slice(1).entries())
        expect(token - tokens[index]!).toBeGreaterThanOrEqual(apart(290_000));
    });

    it('with minHold stays taken also when the shutdown aborts the work', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.acquire(name, { minHold: 10_000 });
      await a.client.shutdown(0);
      await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });

    it('with minHold is free at once after work that took longer', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { minHold: 1 });
      const { lock: next } = await b.queue(name);
      bench.time.stall(2);
      await lock.release();
      expect((await next).isHeld).toBe(true);
    });

    it('stops with the release', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 500, renew: true });
      await lock.release();
      const { length } = a.backend.renewals;
      const other = await b.acquire(name, { lease: 500 });
      await aborted(other);
      expect(a.backend.renewals).toHaveLength(length);
    });
  });

  describe('release', () => {
    it('is safe to call twice, and sends one release', async () => {
      const a = await join();
      const lock = await a.acquire(unique());
      await Promise.all([lock.release(), lock.release()]);
      await lock.release();
      expect(a.backend.releases).toHaveLength(1);
      expect(lock.isHeld).toBe(false);
      expect(lock.signal.aborted).toBe(false);
      expect(thrownBy(() => lock.assertHeld())).toMatchObject({ code: 'LOCK_LOST', reason: 'released' });
    });

    it('happens at the end of `await using`', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      {
        await using lock = await a.acquire(name);
        expect(lock.isHeld).toBe(true);
      }
      await b.acquire(name, { wait: 0 });
    });
  });

  describe('shutdown', () => {
    it('rejects waiting and new callers at once, lets running work end, and releases its lock', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const other = unique();
      const running = await b.acquire(other);
      await a.acquire(name);
      const { lock: waiting } = await b.queue(name);
      const closed = b.client.shutdown(10_000);
      expect(b.client.shutdown(10_000)).toBe(closed);
      await expect(waiting).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await expect(b.acquire(unique())).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(running.isHeld).toBe(true);
      await running.release();
      await closed;
      await c.acquire(other, { wait: 0 });
    });

    it('removes its waiters from the queue', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const held = await a.acquire(name);
      await b.queue(name);
      await b.client.shutdown(0);
      await held.release();
      await c.acquire(name, { wait: 0 });
    });

    it('aborts work that takes too long, and releases its lock', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      await a.client.shutdown(20);
      expect(await aborted(lock)).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
      await b.acquire(name, { wait: 0 });
      await lock.release();
    });

    it('lets running work take further locks, but not wait for them beyond the end of the shutdown', async () => {
      const [a, b] = [await join(), await join()];
      const [name, free, taken] = [unique(), unique(), unique()];
      await b.acquire(taken);
      const scope = await a.enter(name);
      const closed = a.client.shutdown(500);
      await scope.run(async () => {
        await (await a.acquire(free)).release();
        await expect(a.acquire(taken, { wait: Number.POSITIVE_INFINITY })).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
        });
      });
      await closed;
    });
  });
}
