import inspector from 'node:inspector';
import { describe, expect, it } from '@jest/globals';
import { settled } from '../../support/virtual-clock.js';
import { deferred, unanswered } from '../../support/scripted-backend.js';
import { LockConfigurationError } from '../../../lib/errors/lock-errors.js';
import { LockHandle } from '../../../lib/core/lock-handle.js';
import { VirtualClient, watch } from './virtual-client.js';

describe('a hold', () => {
  it('is held until its lease is over, by the clock and not by a timer', async () => {
    const { clock, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    expect(lock).toMatchObject({ key: 'a', isHeld: true, depth: 1, leaseLeft: 997 });
    clock.stall(996);
    expect(lock).toMatchObject({ isHeld: true, leaseLeft: 1 });
    clock.stall(1);
    expect(lock).toMatchObject({ isHeld: false, leaseLeft: 0 });
    expect(() => lock.assertHeld()).toThrow(
      expect.objectContaining({ code: 'LOCK_LOST', reason: 'expired', key: 'a' }),
    );
  });

  it('that is lost says so with the label of its call: in the error, in the log, and at the shutdown', async () => {
    const { clock, log, client, ...v } = world();
    const [lock, other] = [
      await v.acquire('a', { lease: 1_000, label: 'import 4711' }),
      await v.acquire('b', { label: 'a\nb' }),
    ];
    await clock.advance(1_000);
    expect(lock.lost!.message).toMatch(/^'import 4711': Lock 'a' was lost: /);
    const line = `error ${lock.lost!.message}`;
    expect(log.lines).toEqual([line]);
    const end = client.shutdown(5);
    await clock.advance(5);
    await end;
    expect(other.lost!.message).toMatch(/^'a\\nb': Lock 'b' was lost: /);
    expect(log.lines).toEqual([line, expect.stringContaining(`'b' ('a\\nb')`), `error ${other.lost!.message}`]);
  });

  it('that runs out while a debugger is attached says that a breakpoint stops the renewal', async () => {
    const { clock, ...v } = world();
    const [stopped, other] = [await v.acquire('a', { lease: 1_000 }), await v.acquire('b', { lease: 5_000 })];
    inspector.open(0, '127.0.0.1');
    try {
      clock.stall(1_000);
      expect(stopped.isHeld).toBe(false);
    } finally {
      inspector.close();
    }
    clock.stall(5_000);
    expect(other.isHeld).toBe(false);
    expect(stopped.lost!.message).toContain(
      "A debugger is attached, and a breakpoint stops the renewal: set lease: '1h'",
    );
    expect(other.lost!.message).not.toContain('debugger');
  });

  it('that is lost stays lost after a late reply', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: 900, renew: true });
    const answer = deferred<ReturnType<typeof backend.renewal>[]>();
    backend.onRenew = () => answer.promise;
    await clock.advance(300);
    expect(backend.renewed).toHaveLength(1);
    await clock.advance(700);
    expect(lock.isHeld).toBe(false);
    answer.resolve([backend.renewal(900)]);
    await settled();
    expect(lock.isHeld).toBe(false);
    // The renewal may have reached the backend: the claim is released anyway.
    expect(backend.released).toHaveLength(1);
  });

  it('whose lease ended while its work blocked the event loop is lost for that work, and released once', async () => {
    const { clock, backend, ...v } = world();
    const scope = await v.enter('a', { lease: 1_000 });
    clock.stall(1_000);
    // No timer has run since, and the backend, whose lease is a little longer, replies 'released'.
    await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(backend.released).toHaveLength(1);
  });

  it('that was released is not held, and its signal never aborts', async () => {
    const { clock, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    const { signal } = lock;
    await lock.release();
    await clock.advance(5_000);
    expect(lock).toMatchObject({ isHeld: false, leaseLeft: 0 });
    expect(signal.aborted).toBe(false);
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'released' });
  });

  it('ends at maxHold even if it is renewed; the lock then expires and is not released at once', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: 900, renew: true, maxHold: 1_000 });
    expect(lock.leaseLeft).toBeLessThanOrEqual(1_000);
    await clock.advance(999);
    expect(lock.isHeld).toBe(true);
    await clock.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: 'max-hold' });
    expect(backend.released).toEqual([]);
    const { length } = backend.renewed;
    await clock.advance(10_000);
    expect(backend.renewed).toHaveLength(length);
    // When the hung work ends after all, the lock is released.
    await lock.release();
    expect(backend.released).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('that ends at maxHold before its minHold is over keeps the lock from others until then', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: '10s', renew: true, maxHold: '1s', minHold: '1m' });
    const end = clock.now() + 60_000;
    await clock.advance(1_000);
    expect(lock.signal.reason).toMatchObject({ reason: 'max-hold' });
    expect(backend.released).toEqual([expect.objectContaining({ keepUntil: end })]);
    expect(clock.pending).toBe(0);
  });

  it('that ends at maxHold is left to its lease where that lasts longer than its minHold', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: '10s', renew: true, maxHold: '1s', minHold: '2s' });
    await clock.advance(5_000);
    expect(lock.lost).toMatchObject({ reason: 'max-hold' });
    expect(backend.released).toEqual([]);
  });

  it('whose lease ends before its minHold is kept from others until then, where the backend has it still', async () => {
    const { clock, backend, ...v } = world();
    backend.onRenew = (holds) => holds.map(() => 'unanswered');
    const lock = await v.acquire('a', { lease: '10s', renew: true, minHold: '1m' });
    const end = clock.now() + 60_000;
    await clock.advance(10_000);
    expect(lock.lost).toMatchObject({ reason: 'expired' });
    expect(backend.released).toEqual([expect.objectContaining({ keepUntil: end })]);
  });

  it('that others have taken by force is not kept for its minHold', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: '10s', renew: true, minHold: '1m' });
    backend.onRenew = (holds) => holds.map(() => 'lost');
    await clock.advance(5_000);
    expect(lock.lost).toMatchObject({ reason: 'revoked' });
    expect(backend.released).toEqual([{ name: 'a', id: expect.any(String) }]);
  });

  it('ends for the earlier reason, its lease or maxHold, when a blocked event loop sees both too late', async () => {
    for (const [maxHold, reason] of [
      ['5s', 'max-hold'],
      ['15s', 'expired'],
    ] as const) {
      const { clock, ...v } = world();
      const lock = await v.acquire('a', { lease: '10s', renew: true, maxHold });
      clock.stall(60_000);
      expect(lock.isHeld).toBe(false);
      expect(lock.signal.reason).toMatchObject({ reason });
    }
  });

  it('of a fixed lease can be extended with renew(), never shortened, and is not renewed by itself', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    await lock.renew('5s');
    expect(lock.leaseLeft).toBe(5_000 - 5 - 2);
    await lock.renew(500);
    expect(lock.leaseLeft).toBe(5_000 - 5 - 2);
    await clock.advance(4_000);
    expect(backend.renewed).toHaveLength(2);
    expect(lock.isHeld).toBe(true);
    for (const lease of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 'x' as never]) {
      await expect(lock.renew(lease)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    }
    expect(backend.renewed).toHaveLength(2);
  });

  it('of a fixed lease whose grant came late is extended once, so that it lasts as long as requested', async () => {
    const { clock, backend, ...v } = world();
    // The reply took 400 ms, or the process stood still before it read it.
    backend.onAcquire = () => backend.grant(600);
    const lock = await v.acquire('a', { lease: 1_000 });
    expect(lock.leaseLeft).toBeCloseTo(600 - 0.6 - 2);
    await clock.advance(200);
    // A third of what it has: up to its end, and not beyond.
    expect(backend.renewed).toEqual([expect.objectContaining({ lease: 801 })]);
    // The renewal went out after a third of what was left: 199.13 ms after the grant.
    expect(lock.leaseLeft).toBeCloseTo(801 - 0.801 - 2 - (200 - (600 - 0.6 - 2) / 3));
    await clock.advance(796);
    expect(lock.isHeld).toBe(true);
    await clock.advance(4);
    expect(lock.lost).toMatchObject({ reason: 'expired' });
    expect(backend.renewed).toHaveLength(1);
  });

  it.each([
    ['sends nothing where less than a fiftieth and 10 ms are missing', 9_850, []],
    ['is extended where more are missing', 9_700, ['a']],
  ])('of a fixed lease of 10 s %s', async (_what, granted, renewed) => {
    const { clock, backend, ...v } = world();
    backend.onAcquire = () => backend.grant(granted);
    await v.acquire('a', { lease: '10s' });
    await clock.advance(9_000);
    expect(backend.renewed.map(({ name }) => name)).toEqual(renewed);
  });

  it('that is forgotten while a renewal is under way ends with the lease that it had, with any reply', async () => {
    for (const reply of ['renewed', 'unanswered'] as const) {
      const { clock, backend, client, ...v } = world();
      const renew = backend.onRenew;
      const lock = await v.acquire('a', { lease: '9s', renew: true });
      const answer = deferred<void>();
      backend.onRenew = async (holds) => {
        await answer.promise;
        return reply === 'unanswered' ? holds.map(() => reply) : renew(holds);
      };
      await clock.advance(4_000);
      const hold = LockHandle.holdOf(lock);
      hold.forget();
      client.rescheduled(hold);
      answer.resolve();
      await clock.advance(4_000);
      expect(lock.isHeld).toBe(true);
      if (reply === 'renewed') expect(backend.renewed).toHaveLength(1);
      backend.onRenew = renew;
      await clock.advance(1_000);
      expect(lock.lost).toMatchObject({ reason: 'expired', message: expect.stringContaining('was collected') });
    }
  });

  it('that is forgotten is not renewed any more, by a worker neither', async () => {
    const { clock, client, backend, ...v } = world();
    const lock = await v.acquire('a', { lease: '9s', renew: true });
    const hold = LockHandle.holdOf(lock);
    let renews = true;
    hold.watchedBy({
      get validUntil() {
        return renews ? Number.POSITIVE_INFINITY : 0;
      },
      finding: undefined,
      tell: () => undefined,
      end: () => (renews = false),
    });
    hold.forget();
    client.rescheduled(hold);
    expect(renews).toBe(false);
    await clock.advance(9_000);
    expect(lock.lost).toMatchObject({ reason: 'expired' });
    expect(backend.renewed).toEqual([]);
  });

  it('of a fixed lease whose grant came late sends nothing if its work is short', async () => {
    const { clock, backend, ...v } = world();
    backend.onAcquire = () => backend.grant(600);
    const lock = await v.acquire('a', { lease: 1_000 });
    await clock.advance(100);
    await lock.release();
    await clock.advance(1_000);
    expect(backend.renewed).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('whose renew() gets no reply is still held, and rejects that call', async () => {
    const { backend, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    backend.onRenew = () => ['unanswered'];
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    expect(lock.isHeld).toBe(true);
  });

  it('whose renew() finds it lost is lost at once', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a');
    const { signal } = lock;
    backend.onRenew = () => ['lost'];
    await expect(lock.renew()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    expect(signal.aborted).toBe(true);
    await lock.release();
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
  });

  it('that is released during a renew() leaves no timer behind', async () => {
    const { clock, backend, ...v } = world();
    const lock = await v.acquire('a');
    const answer = deferred<ReturnType<typeof backend.renewal>[]>();
    backend.onRenew = () => answer.promise;
    const renewing = watch(lock.renew());
    await lock.release();
    answer.resolve([backend.renewal(30_000)]);
    await settled();
    expect(renewing.state).not.toBe('pending');
    expect(clock.pending).toBe(0);
  });

  it('whose release gets no reply reports no loss, and its release never rejects', async () => {
    const { backend, log, ...v } = world();
    const scope = await v.enter('a');
    backend.onRelease = () => Promise.reject(unanswered());
    await scope.leave('worked');
    expect(log.lines).toEqual([]);
  });

  it('whose lease is over before its caller gets it is lost for that call', async () => {
    const { backend, ...v } = world();
    backend.onAcquire = () => backend.grant(0);
    await expect(v.acquire('a', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(backend.released).toHaveLength(1);
  });

  it('whose release is refused for good is logged once, and its release never rejects', async () => {
    const { clock, backend, log, ...v } = world();
    const lock = await v.acquire('a');
    backend.onRelease = () => Promise.reject(new LockConfigurationError('no permission'));
    await lock.release();
    await clock.advance(120_000);
    expect(log.lines).toEqual([expect.stringContaining('no permission')]);
  });
});

describe('the signal of a hold, after a blocked event loop', () => {
  it.each([
    ['aborted', (signal: AbortSignal) => signal.aborted],
    ['reason', (signal: AbortSignal) => signal.reason !== undefined],
    [
      'throwIfAborted()',
      (signal: AbortSignal) => {
        try {
          signal.throwIfAborted();
          return false;
        } catch {
          return true;
        }
      },
    ],
  ])('shows the loss at once by `%s`, before any timer can run', async (_, ask) => {
    const { clock, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    const { signal } = lock;
    expect(ask(signal)).toBe(false);
    clock.stall(1_000);
    expect(ask(signal)).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('is a real AbortSignal: its event fires once, and it can be combined', async () => {
    const { clock, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    const { signal } = lock;
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(lock.signal).toBe(signal);
    let events = 0;
    signal.addEventListener('abort', () => events++);
    const any = AbortSignal.any([signal]);
    await clock.advance(1_000);
    expect(events).toBe(1);
    expect(any.reason).toBe(signal.reason);
  });

  it('read after the loss is aborted already', async () => {
    const { clock, ...v } = world();
    const lock = await v.acquire('a', { lease: 1_000 });
    await clock.advance(2_000);
    expect(lock.signal.aborted).toBe(true);
  });
});

function world() {
  const v = new VirtualClient();
  const { clock, backend, log, client } = v;
  return { clock, backend, log, client, acquire: v.acquire.bind(v), enter: v.enter.bind(v) };
}
