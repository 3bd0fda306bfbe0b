import { describe, expect, it } from '@jest/globals';
import { currentLock } from '../../../lib/core/lock-flow.js';
import type { LockKey } from '../../../lib/core/lock-key.js';
import type { MultiLock } from '../../../lib/core/multi-lock.js';
import { unanswered } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient, watch } from './virtual-client.js';

/** A client, and names that another process holds. */
function beside(...names: string[]): VirtualClient & { readonly others: Set<string> } {
  const v = Object.assign(new VirtualClient(), { others: new Set(names) });
  v.backend.onAcquire = ({ name, lease, reserve, enqueue }) => {
    if (!v.others.has(name)) return v.backend.grant(lease, reserve);
    return enqueue ? { status: 'queued', askAt: v.clock.now() + 60_000 } : { status: 'contended', leaseLeft: 1_000 };
  };
  return v;
}

/** The name becomes free, and is handed to this client's waiter. */
async function handOver(v: ReturnType<typeof beside>, name: string, token?: number): Promise<void> {
  v.others.delete(name);
  const claim = v.backend.acquired.findLast((request) => request.name === name && request.enqueue)!;
  v.push({ claim, lease: 3_000, ...(token === undefined ? {} : { token }) });
  await settled();
}

describe('a method of a lock', () => {
  it.each([[['a']], [['a', 'b']]])(
    'that is called without its lock says how to call it, and does nothing: %j',
    async (names) => {
      const v = beside();
      const lock = await v.acquireAll(names);
      for (const method of ['release', 'renew', 'export', 'assertHeld'] as const) {
        const detached = { [method]: lock[method] }[method] as () => unknown;
        const called = async (self: unknown): Promise<unknown> => detached.call(self as never);
        for (const self of [undefined, null, {}, v]) {
          await expect(called(self)).rejects.toMatchObject({
            code: 'LOCK_CONFIGURATION',
            message: expect.stringContaining(
              `${method} was called without its lock, so nothing was done. Write lock.${method}()`,
            ),
          });
        }
      }
      expect(lock.isHeld).toBe(true);
      expect(v.backend.released).toEqual([]);
      await lock.release();
      expect(v.backend.released).toHaveLength(names.length);
    },
  );
});

describe('several names that are free', () => {
  it('are requested in one turn, each once, in one order, and released in one turn', async () => {
    const v = beside();
    const taking = v.acquireAll(['c', 'a', 'b', 'a']);
    const questions = ['acquire a', 'acquire b', 'acquire c'];
    expect(v.backend.log).toEqual(questions);
    const lock = await taking;
    expect(lock.keys).toEqual(['a', 'b', 'c']);
    expect(v.clock.pending).toBe(1);
    void lock.release();
    expect(v.backend.log).toEqual([...questions, 'release a', 'release b', 'release c']);
    await lock.release();
    expect(v.backend.released).toHaveLength(3);
    expect(v.clock.pending).toBe(0);
  });

  it('are ordered by their code units, the same in every locale', async () => {
    const lock = await beside().acquireAll(['b', 'ä', 'Z', 'a', '10', '9']);
    expect(lock.keys).toEqual(['10', '9', 'Z', 'a', 'b', 'ä']);
  });

  it('have a token each; the token of the lock is that of its key', async () => {
    const lock = await beside().acquireAll(['b', 'a']);
    expect(lock.key).toBe('a');
    expect(lock.fencingToken).toBe(lock.fencingTokens.get('a'));
    expect(lock.fencingTokens.get('b')).not.toBe(lock.fencingToken);
    const single = await beside().acquire('a');
    expect([single.keys, [...single.fencingTokens]]).toEqual([['a'], [['a', single.fencingToken]]]);
  });

  it('wait for an unavailable backend for as long as `wait` allows, as one name does', async () => {
    const v = beside();
    await v.acquireAll(['a', 'b'], { wait: '7s' });
    expect(v.backend.acquired.map(({ giveUpAt, enqueue }) => [giveUpAt - v.clock.now(), enqueue])).toEqual([
      [7_000, false],
      [7_000, false],
    ]);
  });

  it('are refused at once when the list is empty, too long, or contains an invalid name', async () => {
    const v = beside();
    const tooMany = Array.from({ length: 251 }, (_, index) => `n${index}`);
    for (const [key, message] of [
      [[], 'key: the list of lock names is empty'],
      [tooMany, 'key: 251 lock names given, 250 are allowed'],
      [['a', undefined], 'key: undefined given'],
      [['a', ''], 'key: the lock name is empty'],
      [['a', ['b']], 'key: an array given'],
      [null, 'key: null given'],
    ] as const) {
      await expect(v.client.acquire(key as LockKey, v.client.defaults)).rejects.toMatchObject({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining(message),
      });
    }
    expect(v.backend.log).toEqual([]);
    expect((await v.acquireAll(tooMany.slice(1).concat('n1'))).keys).toHaveLength(250);
  });
});

describe('several names of which one is held by another process', () => {
  it('are waited for in order, without holding later names', async () => {
    const v = beside('b', 'd');
    const taking = v.acquireAll(['a', 'b', 'c', 'd', 'e']);
    await settled();
    const before = ['acquire a', 'acquire b', 'acquire c', 'acquire d', 'acquire e', 'release c', 'release e'];
    expect(v.backend.log).toEqual([...before, 'acquire b']);
    await handOver(v, 'b');
    const between = ['acquire c', 'acquire d', 'acquire e', 'release e', 'acquire d'];
    expect(v.backend.log.slice(before.length + 1)).toEqual(between);
    await handOver(v, 'd');
    expect(v.backend.log.slice(before.length + 1 + between.length)).toEqual(['acquire e']);
    expect((await taking).isHeld).toBe(true);
  });

  it('reject one try with the contended name, after everything is released', async () => {
    const v = beside('b', 'c');
    await expect(v.acquireAll(['a', 'b', 'c', 'd'], { wait: 0 })).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
      key: 'b',
      leaseLeft: 1_000,
    });
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['a', 'd']);
    expect(v.clock.pending).toBe(0);
  });

  it('share one `wait`, counted from the call', async () => {
    const v = beside('b', 'c');
    const taking = watch(v.acquireAll(['a', 'b', 'c'], { wait: '10s' }));
    await v.clock.advance(6_000);
    await handOver(v, 'b');
    await v.clock.advance(3_999);
    expect(taking.state).toBe('pending');
    await v.clock.advance(1);
    expect(taking.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT', key: 'c' });
    expect((taking.reason as Error).message).toContain('within 10000 ms');
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c']);
    expect(v.clock.pending).toBe(0);
  });

  it('are all released when their signal aborts', async () => {
    const v = beside('b');
    const abort = new AbortController();
    const taking = watch(v.acquireAll(['a', 'b'], { signal: abort.signal }));
    await settled();
    const reason = new Error('the user has left');
    abort.abort(reason);
    await settled();
    expect(taking.reason).toBe(reason);
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    expect(v.clock.pending).toBe(0);
  });

  it('are not waited for when another one is unusable', async () => {
    const v = beside('a');
    const { onAcquire } = v.backend;
    v.backend.onAcquire = (request) => (request.name === 'b' ? Promise.reject(unanswered()) : onAcquire(request));
    await expect(v.acquireAll(['a', 'b', 'c'])).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    // The names that the lost acquire may have taken are released as well.
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['b', 'c']);
  });

  it('are given up when one that was granted already is lost', async () => {
    const v = beside('b');
    v.backend.onRenew = (holds) => holds.map(() => 'lost');
    const taking = watch(v.acquireAll(['a', 'b'], { wait: '1m' }));
    await v.clock.advance(10_000);
    expect(taking.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: 'a' });
    expect(v.backend.released.map(({ name }) => name)).toContain('b');
    expect(v.clock.pending).toBe(0);
  });

  it('are given up on shutdown, which waits until everything is released', async () => {
    const v = beside('b');
    const taking = watch(v.acquireAll(['a', 'b']));
    await settled();
    await v.client.shutdown(10_000);
    await settled();
    expect(taking.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    expect(v.clock.pending).toBe(0);
  });
});

describe('the lease of several names', () => {
  it('that is fixed, and maxHold, count from the grant of the last of them', async () => {
    for (const [options, reason] of [
      [{ lease: '3s' }, 'expired'],
      [{ maxHold: '3s' }, 'max-hold'],
    ] as const) {
      const v = beside('b');
      const taking = v.acquireAll(['a', 'b'], options);
      await v.clock.advance(8_000);
      await handOver(v, 'b');
      const lock = await taking;
      await v.clock.advance(2_900);
      expect(lock.isHeld).toBe(true);
      const renewals = v.backend.renewed.length;
      await v.clock.advance(100);
      expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason });
      expect(v.backend.renewed).toHaveLength(renewals);
    }
  });

  it('that is fixed is whole for each of them, also after a short wait for the last one', async () => {
    for (const wait of [50, 290, 320]) {
      const v = beside('b');
      const taking = v.acquireAll(['a', 'b'], { lease: '3s' });
      await v.clock.advance(wait);
      await handOver(v, 'b');
      const lock = await taking;
      await v.clock.advance(0);
      for (const { leaseLeft } of lock.parts) expect(leaseLeft).toBeGreaterThanOrEqual(3_000 - 3 - 2);
    }
  });

  it('that is fixed is whole also for the last name, which was handed over for the claim window', async () => {
    for (const held of [['a'], ['b'], ['a', 'b']]) {
      const v = beside(...held);
      const taking = v.acquireAll(['a', 'b'], { lease: '10s' });
      // Shorter than the time until a lease is renewed.
      await v.clock.advance(500);
      for (const name of held) await handOver(v, name);
      const lock = await taking;
      await v.clock.advance(9_900);
      expect([held, lock.isHeld]).toEqual([held, true]);
      // Each is set to its length once, and not extended.
      for (const name of lock.keys)
        expect(v.backend.renewed.filter((renewed) => renewed.name === name).length).toBeLessThanOrEqual(1);
      await v.clock.advance(100);
      expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    }
  });

  it('begins `minHold` with the grant of the last of them; names released before are free at once', async () => {
    const v = beside('b');
    await expect(v.acquireAll(['a', 'b'], { wait: 0, minHold: '50s' })).rejects.toMatchObject({ key: 'b' });
    expect(v.backend.released).toEqual([expect.not.objectContaining({ keepUntil: expect.anything() })]);
    const taking = v.acquireAll(['a', 'b'], { minHold: '50s' });
    await v.clock.advance(8_000);
    await handOver(v, 'b');
    const lock = await taking;
    const end = v.clock.now() + 50_000;
    await v.clock.advance(1_000);
    await lock.release();
    expect(v.backend.released.slice(1).map(({ name, keepUntil }) => [name, keepUntil])).toEqual([
      ['a', end],
      ['b', end],
    ]);
  });

  it('that is fixed is whole for each of them, also when their grants came late', async () => {
    const v = beside();
    v.backend.onAcquire = () => v.backend.grant(600);
    const lock = await v.acquireAll(['a', 'b'], { lease: 1_000 });
    await v.clock.advance(900);
    expect(lock.isHeld).toBe(true);
    expect(v.backend.renewed.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    await v.clock.advance(100);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('that is fixed costs no renewal without waiting', async () => {
    const v = beside();
    const lock = await v.acquireAll(['a', 'b'], { lease: '3s' });
    await v.clock.advance(2_900);
    expect(lock.isHeld).toBe(true);
    expect(v.backend.renewed).toEqual([]);
  });

  it('is renewed with renew() for all of them in one call', async () => {
    const v = beside();
    const lock = await v.acquireAll(['a', 'b'], { lease: '3s' });
    await v.clock.advance(2_000);
    await lock.renew('5s');
    expect(v.backend.log.at(-1)).toBe('renew a,b');
    await v.clock.advance(4_900);
    expect(lock.isHeld).toBe(true);
    v.backend.onRenew = () => [v.backend.renewal(5_000), 'unanswered'];
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', key: 'b' });
  });
});

describe('several names, one of which is lost', () => {
  const losing = async (): Promise<{ v: ReturnType<typeof beside>; lock: MultiLock }> => {
    const v = beside();
    v.backend.onRenew = (holds) => holds.map(({ name, lease }) => (name === 'b' ? 'lost' : v.backend.renewal(lease)));
    return { v, lock: await v.acquireAll(['a', 'b', 'c']) };
  };

  it('are no longer held: every call reports that, and names the lost one', async () => {
    const { v, lock } = await losing();
    let said = 0;
    lock.signal.addEventListener('abort', () => said++);
    await v.clock.advance(10_000);
    expect(said).toBe(1);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', key: 'b' });
    expect([lock.isHeld, lock.leaseLeft]).toEqual([false, 0]);
    expect(() => lock.assertHeld()).toThrow(lock.signal.reason as Error);
    await expect(lock.renew()).rejects.toBe(lock.signal.reason);
    // Each name once: the lost one at the loss, the others now.
    await lock.release();
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c']);
  });

  it('report the loss after a stalled event loop before any timer could', async () => {
    const v = beside();
    const lock = await v.acquireAll(['a', 'b'], { lease: '3s' });
    const { signal } = lock;
    v.clock.stall(3_000);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired', key: 'a' });
  });

  it('reject work that succeeded', async () => {
    for (const [outcome, onLost, fails] of [
      ['worked', 'throw', true],
      ['worked', 'warn', false],
      ['failed', 'throw', false],
    ] as const) {
      const v = beside();
      v.backend.onRelease = ({ name }) => (name === 'b' ? 'absent' : 'released');
      const scope = await v.enter(['a', 'b'], { onLost });
      if (fails) await expect(scope.leave(outcome)).rejects.toMatchObject({ code: 'LOCK_LOST', key: 'b' });
      else await scope.leave(outcome);
    }
  });
});

describe('several names in a flow', () => {
  it('are found together as the lock around the code, and one by one', async () => {
    const v = beside();
    const scope = await v.enter(['a', 'b']);
    scope.run(() => {
      expect(currentLock()).toBe(scope.lock);
      expect(v.client.current()).toBe(scope.lock);
      expect(v.client.current('a')).toMatchObject({ key: 'a', fencingToken: scope.lock.fencingTokens.get('a') });
      expect(v.client.current('c')).toBeUndefined();
    });
    await scope.leave('worked');
    scope.run(() => expect(currentLock()).toBeUndefined());
  });

  it('that it holds in part: only the missing names are requested, waited for, and released', async () => {
    const v = beside('b');
    const outer = await v.enter(['a', 'c']);
    v.backend.log.length = 0;
    await outer.run(async () => {
      const taking = v.acquireAll(['a', 'b', 'c', 'd']);
      await settled();
      expect(v.backend.log).toEqual(['acquire b', 'acquire d', 'release d', 'acquire b']);
      await handOver(v, 'b');
      const inner = await taking;
      expect(inner.depth).toBe(1);
      expect((await v.acquireAll(['c', 'a'])).depth).toBe(2);
      v.backend.log.length = 0;
      await inner.release();
      expect(v.backend.log).toEqual(['release b', 'release d']);
      expect(outer.lock.isHeld).toBe(true);
    });
  });

  it('are refused when the flow has lost one of them, and no name is kept', async () => {
    const v = beside();
    const outer = await v.enter('b', { lease: '3s' });
    await v.clock.advance(3_000);
    await outer.run(async () => {
      await expect(v.acquireAll(['a', 'b', 'c'])).rejects.toMatchObject({ code: 'LOCK_LOST', key: 'b' });
    });
    expect(v.backend.released.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c']);
  });
});
