import { describe, expect, it } from '@jest/globals';
import type { Lock } from '../../../lib/core/lock.js';
import type { RedisLockService } from '../../../lib/connection/redis-lock.service.js';
import { LockTestBed } from '../../../lib/testing/lock-test-bed.js';

/** Two processes on one bed. */
const processes = (): { bed: LockTestBed; a: RedisLockService; b: RedisLockService } => {
  const bed = new LockTestBed();
  return { bed, a: bed.otherProcess('a'), b: bed.otherProcess('b') };
};

/** `b` waits for what `a` holds. */
const contended = async (): Promise<ReturnType<typeof processes> & { held: Lock; waiting: Promise<Lock> }> => {
  const { bed, a, b } = processes();
  const held = await a.acquire('x');
  const waiting = b.acquire('x', { wait: '1m' });
  await bed.advance(0);
  return { bed, a, b, held, waiting };
};

describe('lose', () => {
  it('frees the lock: its holder learns it by its next renewal, and others can take it at once', async () => {
    const { bed, a, b } = processes();
    const held = await a.acquire('x');
    const { signal } = held;
    expect(bed.faults.lose('x')).toBe(true);
    expect(bed.faults.lose('x')).toBe(false);
    const other = await b.acquire('x', { wait: 0 });
    expect(other.fencingToken).toBeGreaterThan(held.fencingToken);
    expect(signal.aborted).toBe(false);
    await bed.advance('10s');
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: 'x' });
    await held.release();
    expect(other.isHeld).toBe(true);
  });

  it('is detected by the release at the latest', async () => {
    const { bed, a } = processes();
    const work = a.using('x', () => bed.faults.lose('x'));
    await expect(work).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });
});

describe('unavailable', () => {
  it('rejects calls at once, and serves them again when it is over', async () => {
    const { bed, a } = processes();
    await (await a.acquire('x')).release();
    bed.faults.unavailable('5s');
    await expect(a.acquire('x')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false, key: 'x' });
    await bed.advance('4999ms');
    await expect(a.tryAcquire('x')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await bed.advance(1);
    expect((await a.acquire('x')).isHeld).toBe(true);
  });

  it('has no effect on calls if it is shorter than `commandTimeout`', async () => {
    const { bed, a } = processes();
    bed.faults.unavailable('900ms');
    const lock = a.acquire('x');
    const start = bed.clock.now();
    await expect(bed.until(lock)).resolves.toMatchObject({ isHeld: true });
    expect(bed.clock.now() - start).toBe(900);
  });

  it('rejects calls with a wait that is shorter than the outage', async () => {
    const { bed, a } = processes();
    bed.faults.unavailable('900ms');
    await expect(a.acquire('x', { wait: 500 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const abort = new AbortController();
    const lock = a.acquire('x', { signal: abort.signal });
    const gone = expect(lock).rejects.toMatchObject({ name: 'AbortError' });
    abort.abort();
    await bed.advance('1m');
    await gone;
    expect(bed.inspect('x').holders[0]).toBeUndefined();
  });

  it('costs a holder its lock when the lease ends before the outage', async () => {
    const { bed, a } = processes();
    const { signal } = await a.acquire('x');
    bed.faults.unavailable('1m');
    await bed.advance('29s');
    expect(signal.aborted).toBe(false);
    await bed.advance('1s');
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('costs a holder nothing when it ends in time: the lease is then renewed', async () => {
    const { bed, a } = processes();
    const lock = await a.acquire('x');
    await bed.advance('9s');
    bed.faults.unavailable('20s');
    await bed.advance('1m');
    expect(lock.isHeld).toBe(true);
  });

  it('keeps waiters at their places: they are served afterwards', async () => {
    const { bed, held, waiting } = await contended();
    bed.faults.unavailable('5s');
    const released = held.release();
    await bed.advance('5s');
    await released;
    expect((await waiting).isHeld).toBe(true);
  });

  it('can be extended, and no call during it is served', async () => {
    const { bed, a } = processes();
    bed.faults.unavailable('5s');
    await bed.advance('4s');
    bed.faults.unavailable('5s');
    await bed.advance('4s');
    await expect(a.acquire('x')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await bed.advance('1s');
    await a.acquire('x');
  });
});

describe('loseHandOffs', () => {
  it('makes a waiter rely on its poll, which finds the lock granted to it', async () => {
    const { bed, held, waiting } = await contended();
    bed.faults.loseHandOffs();
    const start = bed.clock.now();
    await held.release();
    await bed.advance(0);
    expect(bed.inspect('x')).toMatchObject({ holders: [{ client: 'b', state: 'provisional' }] });
    const lock = await bed.until(waiting);
    expect(bed.clock.now() - start).toBeLessThanOrEqual(5_000);
    expect(lock.fencingToken).toBeGreaterThan(held.fencingToken);
  });

  it('loses the given number, and the next one arrives', async () => {
    const { bed, a, b } = processes();
    bed.faults.loseHandOffs(2);
    const start = bed.clock.now();
    for (const polled of [true, true, false]) {
      const held = await a.acquire('x');
      const waiting = b.acquire('x');
      await bed.advance(0);
      const before = bed.clock.now();
      await held.release();
      await (await bed.until(waiting)).release();
      expect(bed.clock.now() > before).toBe(polled);
    }
    expect(bed.clock.now()).toBeGreaterThan(start);
  });
});

describe('delayHandOffs', () => {
  it('lets a message arrive late: an old grant is confirmed before the work starts', async () => {
    const { bed, held, waiting } = await contended();
    bed.faults.delayHandOffs('2s');
    const start = bed.clock.now();
    await held.release();
    const lock = await bed.until(waiting);
    expect(bed.clock.now() - start).toBe(2_000);
    // More than the rest of a provisional grant: the holder has confirmed it.
    expect(bed.inspect('x')).toMatchObject({ holders: [{ client: 'b', state: 'held' }] });
    expect(lock.leaseLeft).toBeGreaterThan(20_000);
  });

  it('lets a message arrive too late: the grant is over, and no client uses it', async () => {
    const { bed, a, held, waiting } = await contended();
    bed.faults.delayHandOffs('4s');
    await held.release();
    await bed.advance('3s');
    const other = await a.acquire('x', { wait: 0, lease: '1m' });
    let served = false;
    void waiting.then(() => (served = true));
    await bed.advance('50s');
    expect([served, other.isHeld]).toEqual([false, true]);
    await other.release();
    await expect(bed.until(waiting)).resolves.toMatchObject({ isHeld: true });
  });
});

describe('dropReplies', () => {
  it('rejects the caller as uncertain, and the lock is free in the end', async () => {
    const { bed, a, b } = processes();
    bed.faults.dropReplies();
    await expect(a.acquire('x')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    await bed.advance(0);
    await (await b.acquire('x', { wait: 0 })).release();
    await bed.advance('1m');
    expect(bed.clock.pending).toBe(0);
  });

  it('of a release has no effect on any caller', async () => {
    const { bed, a, b } = processes();
    const lock = await a.acquire('x');
    // The second one is for the next caller, and no third one follows.
    bed.faults.dropReplies(2);
    await lock.release();
    await expect(b.acquire('x', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    await bed.advance(0);
    await b.acquire('x', { wait: 0 });
  });
});

describe('delayCommands', () => {
  it('delays the reply', async () => {
    const { bed, a } = processes();
    bed.faults.delayCommands('800ms');
    const start = bed.clock.now();
    await bed.until(a.acquire('x'));
    expect(bed.clock.now() - start).toBe(800);
  });

  it('beyond `commandTimeout` rejects the caller, and the late acquire takes no lock', async () => {
    const { bed, a } = processes();
    bed.faults.delayCommands('5s');
    const start = bed.clock.now();
    await expect(bed.until(a.acquire('x'))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    expect(bed.clock.now() - start).toBe(1_000);
    for (let second = 0; second < 10; second++) {
      await bed.advance('1s');
      expect(bed.inspect('x').holders[0]).toBeUndefined();
    }
  });

  it('beyond `commandTimeout` still executes a release', async () => {
    const { bed, a, b } = processes();
    const lock = await a.acquire('x');
    bed.faults.delayCommands('1500ms');
    const released = lock.release();
    await bed.until(released);
    expect(bed.inspect('x').holders[0]).toBeDefined();
    const waiting = b.acquire('x');
    const start = bed.clock.now();
    await bed.until(waiting);
    expect(bed.clock.now() - start).toBe(500);
  });
});

describe('a fault', () => {
  it.each([0, -1, 1.5, 1001, '2'])('refuses the count %p', (count) => {
    const { faults } = new LockTestBed();
    for (const fault of [
      () => faults.loseHandOffs(count as number),
      () => faults.delayHandOffs('1s', count as number),
      () => faults.dropReplies(count as number),
      () => faults.delayCommands('1s', count as number),
    ]) {
      expect(fault).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
    }
  });

  it.each([0, -1, 'soon', Number.POSITIVE_INFINITY])('refuses the duration %p', (duration) => {
    const { faults } = new LockTestBed();
    for (const fault of [
      () => faults.unavailable(duration as number),
      () => faults.delayHandOffs(duration as number),
      () => faults.delayCommands(duration as number),
    ]) {
      expect(fault).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
    }
  });
});
