import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import { LockClient } from '../../lib/core/lock-client.js';
import type { LockScope } from '../../lib/core/lock-scope.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../lib/core/options.js';
import type { Lock } from '../../lib/core/lock.js';
import { KeptLog } from '../support/kept-log.js';
import type { LockPlace } from './lock-place.js';
import { WatchedBackend } from './watched-backend.js';

interface Settings {
  deaf?: boolean;
  maxWaiters?: number;
  maxLocalHandoffs: number;
}

/** One process, so to speak: a client, and what it asks of its backend. */
class Member {
  readonly log = new KeptLog();
  readonly backend: WatchedBackend;
  readonly client: LockClient;

  constructor(backend: LockBackend, { maxWaiters = 10_000, maxLocalHandoffs }: Settings) {
    this.backend = new WatchedBackend(backend);
    this.client = new LockClient(this.backend, { defaults: lockDefaults, maxWaiters, maxLocalHandoffs }, this.log);
  }

  acquire(name: string, options: LockOptions = {}): Promise<Lock> {
    return this.client.acquire(name, resolveOptions(options, lockDefaults));
  }

  enter(name: string, options: LockOptions = {}): Promise<LockScope> {
    return this.client.enter(name, resolveOptions(options, lockDefaults));
  }

  /** Waits, and returns when its claim stands in the backend's queue; the answer is the lock to come. */
  async queue(name: string, options: LockOptions = {}): Promise<{ lock: Promise<Lock> }> {
    const before = this.backend.waiting(name);
    const lock = this.acquire(name, options);
    lock.catch(() => undefined);
    await this.backend.until(() => this.backend.waiting(name) > before);
    return { lock };
  }
}

/** What a LockClient must guarantee on every backend, with local hand-off and without (`maxLocalHandoffs` 0). */
export function lockClientConformance(open: () => Promise<LockPlace>, { maxLocalHandoffs = 16 } = {}): void {
  let place: LockPlace;
  const members: Member[] = [];

  const join = async (settings: Partial<Settings> = {}): Promise<Member> => {
    const { deaf = false } = settings;
    const member = new Member(place.backend({ deaf }), { maxLocalHandoffs, ...settings });
    members.push(member);
    // On a very busy machine the first attempt may take too long; it goes on by itself.
    await member.client.start().catch(() => member.backend.until(() => member.backend.recoveries > 0));
    return member;
  };
  const unique = (): string => `conformance:${randomUUID()}`;
  const aborted = async ({ signal }: Lock): Promise<unknown> => {
    if (!signal.aborted) await once(signal, 'abort');
    return signal.reason;
  };

  beforeAll(async () => {
    place = await open();
  });
  afterEach(async () => {
    await Promise.all(members.splice(0).map(({ client }) => client.shutdown(0)));
  });
  afterAll(() => place.close());

  describe('callers of many processes', () => {
    it.each(['handoff', 'strict'] as const)(
      'never hold one lock at once, and their tokens increase (%s)',
      async (fairness) => {
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
      },
    );

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

    it('let another process in after at most `maxLocalHandoffs` of them', async () => {
      const [a, b] = [await join({ maxLocalHandoffs: 2 }), await join()];
      const name = unique();
      const order: string[] = [];
      const first = await a.acquire(name);
      const other = await b.queue(name);
      const rest = Array.from({ length: 6 }, async (_, index) => {
        const lock = await a.acquire(name);
        order.push(`a${index}`);
        // The process learns who waits from the renewal beside; until it is answered it cannot know.
        await a.backend.until(() => a.backend.renewals.every(({ replies }) => replies !== undefined));
        await lock.release();
      });
      await first.release();
      const lock = await other.lock;
      order.push('b');
      await lock.release();
      await Promise.all(rest);
      expect(order.indexOf('b')).toBeLessThanOrEqual(2);
      expect(order.filter((who) => who !== 'b')).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5']);
    });

    it('never pass the lock on among themselves with `maxLocalHandoffs` 0', async () => {
      const [a, b] = [await join({ maxLocalHandoffs: 0 }), await join()];
      const name = unique();
      const first = await a.acquire(name);
      const other = await b.queue(name);
      const next = a.acquire(name);
      await first.release();
      const lock = await other.lock;
      expect(await Promise.race([next, 'waiting'])).toBe('waiting');
      await lock.release();
      await next;
    });

    it('stand in the queue one by one with fairness strict: first come, first served over all processes', async () => {
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
    });

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

  describe('a caller that gives up', () => {
    it('with wait 0 gets one try, and is told how long the lease of the holder lasts', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.acquire(name, { lease: 5_000 });
      for (const member of [b, a]) {
        const error = await member.acquire(name, { wait: 0 }).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ name: 'LockNotAcquiredError', code: 'LOCK_CONTENDED', key: name });
        expect((error as { retryAfter: number }).retryAfter).toBeGreaterThan(0);
        expect((error as { retryAfter: number }).retryAfter).toBeLessThanOrEqual(5_000);
      }
    });

    it('after `wait` is told so, and nothing of it is left in the queue', async () => {
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

    it('by its signal gets the reason of the signal, and nothing of it is left in the queue', async () => {
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

    it('before it began sends nothing', async () => {
      const a = await join();
      const reason = new Error('gone');
      await expect(a.acquire(unique(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      expect(a.backend.requests).toBe(0);
    });

    it('in the very moment of asking leaves no lock behind', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const abort = new AbortController();
      const lock = a.acquire(name, { signal: abort.signal });
      abort.abort();
      await expect(lock).rejects.toMatchObject({ name: 'AbortError' });
      await a.backend.until(() => a.backend.releases.some(({ reply }) => reply !== undefined));
      await b.acquire(name, { wait: 0 });
    });

    it('passes the place of its process on to the next one there', async () => {
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

    it('after its lock was granted keeps it: the signal ends the waiting only', async () => {
      const a = await join();
      const abort = new AbortController();
      const lock = await a.acquire(unique(), { signal: abort.signal });
      abort.abort();
      expect(lock.isHeld).toBe(true);
      expect(lock.signal.aborted).toBe(false);
    });
  });

  describe('re-entry', () => {
    it('of a flow costs the backend nothing, and the lock goes with its outermost scope', async () => {
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

    it('is for the own flow only: another one of the same process waits', async () => {
      const a = await join();
      const name = unique();
      const outer = await a.enter(name);
      await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await outer.leave('worked');
    });
  });

  describe('a lock that is lost', () => {
    it('because its lease ran out says so before anybody else has it', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 400 });
      const { signal } = lock;
      let said = 0;
      signal.addEventListener('abort', () => said++);
      const { lock: next } = await b.queue(name);
      await next;
      expect(signal.aborted).toBe(true);
      expect(said).toBe(1);
      expect(signal.reason).toMatchObject({ name: 'LockLostError', code: 'LOCK_LOST', reason: 'expired', key: name });
      expect(lock).toMatchObject({ isHeld: false, remaining: 0 });
      expect(() => lock.assertHeld()).toThrow(signal.reason as Error);
      await expect(lock.renew()).rejects.toBe(signal.reason);
      await lock.release();
      expect((await next).isHeld).toBe(true);
      expect(a.log.lines.filter((line) => line.startsWith('error'))).toHaveLength(1);
    });

    it('fails good work at its end, unless it is only to be warned of; an error of the work is never replaced', async () => {
      const a = await join();
      for (const [onLost, outcome, fails] of [
        ['throw', 'worked', true],
        ['warn', 'worked', false],
        ['throw', 'failed', false],
      ] as const) {
        const scope = await a.enter(unique(), { lease: 20, onLost });
        await aborted(scope.lock);
        if (fails) await expect(scope.leave(outcome)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
        else await scope.leave(outcome);
      }
    });

    it('refuses whoever asks again inside', async () => {
      const a = await join();
      const name = unique();
      const scope = await a.enter(name, { lease: 20 });
      await aborted(scope.lock);
      await scope.run(() => expect(a.enter(name)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' }));
      await scope.leave('failed');
    });

    it('because the backend forgot it aborts the signal at the next renewal', async () => {
      const [a, thief] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 900, renew: true });
      // Somebody takes the lock away by force: here with the claim's own id.
      await thief.backend.release(a.backend.acquires[0]!);
      expect(await aborted(lock)).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      await thief.acquire(name, { wait: 0 });
    });

    it('because the backend forgot it is found out by its release', async () => {
      const [a, thief] = [await join(), await join()];
      const scope = await a.enter(unique());
      await thief.backend.release(a.backend.acquires[0]!);
      await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    });
  });

  describe('renewal', () => {
    it('keeps a lock over many leases while its work goes on', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 600, renew: true });
      const { lock: next } = await b.queue(name);
      await Promise.race([a.backend.until(() => a.backend.renewals.length >= 7), aborted(lock)]);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      expect((await next).fencingToken).toBeGreaterThan(lock.fencingToken);
    });

    it('of a fixed lease is left to its holder', async () => {
      const a = await join();
      const lock = await a.acquire(unique(), { lease: 1_000 });
      await lock.renew(10_000);
      expect(lock.remaining).toBeGreaterThan(1_000);
      expect(a.backend.renewals).toHaveLength(1);
    });

    it('ends at maxHold: the signal aborts, and the lock runs out', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 900, renew: true, maxHold: 350 });
      const { lock: next } = await b.queue(name);
      expect(await aborted(lock)).toMatchObject({ code: 'LOCK_LOST', reason: 'max-hold' });
      const { length } = a.backend.renewals;
      await next;
      expect(a.backend.renewals).toHaveLength(length);
    });

    it('stops with the release', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 30, renew: true });
      await lock.release();
      const { length } = a.backend.renewals;
      const other = await b.acquire(name, { lease: 120 });
      await aborted(other);
      expect(a.backend.renewals).toHaveLength(length);
    });
  });

  describe('release', () => {
    it('is safe to call twice, and answers once', async () => {
      const a = await join();
      const lock = await a.acquire(unique());
      await Promise.all([lock.release(), lock.release()]);
      await lock.release();
      expect(a.backend.releases).toHaveLength(1);
      expect(lock.isHeld).toBe(false);
      expect(lock.signal.aborted).toBe(false);
      expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST', reason: 'released' }));
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
    it('rejects who waits at once, lets running work end, gives its lock back, and admits nobody', async () => {
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

    it('takes its waiters out of the queue', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const held = await a.acquire(name);
      await b.queue(name);
      await b.client.shutdown(0);
      await held.release();
      await c.acquire(name, { wait: 0 });
    });

    it('aborts work that takes too long, and gives its lock back', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      await a.client.shutdown(20);
      expect(await aborted(lock)).toMatchObject({ code: 'LOCK_LOST', reason: 'shutdown' });
      await b.acquire(name, { wait: 0 });
      await lock.release();
    });

    it('lets running work take further locks, but not wait for them longer than the shutdown lasts', async () => {
      const [a, b] = [await join(), await join()];
      const [name, free, taken] = [unique(), unique(), unique()];
      await b.acquire(taken);
      const scope = await a.enter(name);
      const closed = a.client.shutdown(60);
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
