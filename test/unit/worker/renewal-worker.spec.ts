import { describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { resolveOptions } from '../../../lib/core/options.js';
import { readTicket } from '../../../lib/core/ticket.js';
import { deferred } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { watch } from '../core/virtual-client.js';
import { ClientWithWorker } from './virtual-worker.js';

const started = (options?: ConstructorParameters<typeof ClientWithWorker>[0]): Promise<ClientWithWorker> =>
  new ClientWithWorker(options).start();

describe('a lock that a worker renews, too', () => {
  it('is held after the event loop was blocked for three leases, and the first look says so', async () => {
    const v = await started();
    const lock = await v.acquire('a');
    await v.blocked(27_000);
    expect(lock.isHeld).toBe(true);
    expect(lock.signal.aborted).toBe(false);
    expect(lock.leaseLeft).toBeGreaterThan(4_000);
    v.unblock();
    await v.clock.advance(60_000);
    expect(lock.isHeld).toBe(true);
    await lock.release();
    expect(lock.lost).toBeUndefined();
  });

  it('is renewed by the main thread alone while that is in time', async () => {
    const v = await started();
    const lock = await v.acquire('a');
    await v.clock.advance(90_000);
    expect(v.backend.renewed).toHaveLength(30);
    expect(v.workerBackend.renewed).toEqual([]);
    await lock.release();
    await v.clock.advance(90_000);
    expect(v.workerBackend.renewed).toEqual([]);
    expect(v.clock.pending).toBe(0);
  });

  it('is renewed as the main thread would: with its claim, its token and its lease, every half of it', async () => {
    const v = await started();
    const lock = await v.acquire('a');
    await v.blocked(27_100);
    const { id } = v.backend.acquired[0]!;
    const { fencingToken } = lock;
    expect(v.workerBackend.renewed).toEqual(
      Array.from({ length: 6 }, () => ({ name: 'a', id, fencingToken, lease: 9_000, reserve: 0 })),
    );
  });

  it('is lost when the main thread gives no sign of life for stallLimit, and the first look says so, and why', async () => {
    const v = await started({ stallLimit: 20_000 });
    const lock = await v.acquire('a');
    const { signal } = lock;
    await v.blocked(20_000);
    const { length } = v.workerBackend.renewed;
    await v.clock.advance(9_000);
    expect(v.workerBackend.renewed).toHaveLength(length);
    expect(lock.isHeld).toBe(false);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(lock.lost!.message).toContain('stallLimit');
  });

  it('is held when the main thread gives a sign of life before the lease of a worker that has stopped is over', async () => {
    const v = await started({ stallLimit: 20_000 });
    const lock = await v.acquire('a');
    await v.blocked(24_000);
    v.unblock();
    await v.clock.advance(30_000);
    expect(lock.isHeld).toBe(true);
    // The reason of a later loss is another one.
    v.backend.onRenew = v.workerBackend.onRenew = () => ['unanswered'];
    await v.clock.advance(9_000);
    expect(lock.lost!.message).not.toContain('stallLimit');
  });

  it('is lost at the end of maxHold, and not renewed after it, also while the event loop is blocked', async () => {
    const v = await started();
    const lock = await v.acquire('a', { maxHold: '20s' });
    await v.blocked(60_000);
    // After 4.5, 9, 13.5 and 18 s.
    expect(v.workerBackend.renewed).toHaveLength(4);
    expect(lock.isHeld).toBe(false);
  });

  it('of several names ends at maxHold after the last of them', async () => {
    const v = await started();
    const locks = await v.client.acquire(['a', 'b'], resolveOptions({ maxHold: '20s' }, v.client.defaults));
    await v.blocked(19_000);
    expect(locks.isHeld).toBe(true);
    await v.clock.advance(1_000);
    expect(locks.isHeld).toBe(false);
  });

  it('of several names is not renewed after maxHold', async () => {
    const v = await started();
    await v.client.acquire(['a', 'b'], resolveOptions({ maxHold: '20s' }, v.client.defaults));
    await v.blocked(60_000);
    expect(v.workerBackend.renewed).toHaveLength(8);
  });

  it('is not renewed after its lease has run out, even if the main thread has not noticed that yet', async () => {
    const v = await started();
    await v.acquire('a');
    v.workerBackend.onRenew = (holds) => holds.map(() => 'unanswered');
    await v.blocked(9_100);
    const { length } = v.workerBackend.renewed;
    // Repeated well inside the lease.
    expect(length).toBeGreaterThan(10);
    await v.clock.advance(30_000);
    expect(v.workerBackend.renewed).toHaveLength(length);
  });

  it('is lost at the first look when the backend told the worker so', async () => {
    const v = await started();
    const lock = await v.acquire('a');
    v.workerBackend.onRenew = () => ['lost'];
    await v.blocked(5_000);
    expect(lock.isHeld).toBe(false);
    expect(lock.lost).toMatchObject({ reason: 'revoked' });
  });

  it('stays lost when the backend knows its claim again, as after a failover', async () => {
    const v = await started();
    const lock = await v.acquire('a');
    v.workerBackend.onRenew = () => ['lost'];
    await v.blocked(5_000);
    v.workerBackend.onRenew = (holds) => holds.map(() => v.workerBackend.renewal(9_000));
    await v.clock.advance(3_500);
    expect(lock.isHeld).toBe(false);
    expect(lock.lost).toMatchObject({ reason: 'revoked' });
    expect(v.workerBackend.renewed).toHaveLength(1);
  });

  it('is not extended by the reply to a renewal that was under way at its release', async () => {
    const v = await started();
    const reply = deferred<Array<ReturnType<typeof v.backend.renewal>>>();
    v.workerBackend.onRenew = () => reply.promise;
    const first = await v.acquire('a');
    await v.blocked(5_000);
    v.main.unblock();
    await first.release();
    const second = await v.acquire('a');
    v.backend.onRenew = () => ['unanswered'];
    v.workerBackend.onRenew = () => ['unanswered'];
    reply.resolve([v.workerBackend.renewal(900_000)]);
    await settled();
    expect(first.isHeld).toBe(false);
    expect(second.leaseLeft).toBeLessThan(9_001);
    await v.clock.advance(9_000);
    expect(second.isHeld).toBe(false);
  });

  it('is confirmed by the worker when it was granted by a message and the work blocks at once', async () => {
    const v = await started();
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000 });
    const acquired = v.acquire('a');
    await settled();
    const { name, id } = v.backend.acquired.at(-1)!;
    const validUntil = v.clock.now() + 3_000;
    v.backend.events.granted({ name, id, fencingToken: 5, tokensUntil: 5, validUntil });
    const lock = await acquired;
    await v.blocked(8_000);
    expect(lock.isHeld).toBe(true);
    expect(v.workerBackend.renewed[0]).toMatchObject({ id, fencingToken: 5, lease: 9_000 });
  });

  it('is renewed with its own token after a hand-off inside the process', async () => {
    const v = await started();
    const first = await v.acquire('a');
    const [next, afterNext] = [v.acquire('a'), v.acquire('a')];
    await settled();
    await first.release();
    const second = await next;
    await second.release();
    const third = await afterNext;
    const claims = v.backend.acquired.map(({ id }) => id);
    expect(claims).toHaveLength(2);
    await v.blocked(20_000);
    expect(third.isHeld).toBe(true);
    const { fencingToken } = third;
    expect(new Set(v.workerBackend.renewed.map((request) => JSON.stringify(request)))).toEqual(
      new Set([JSON.stringify({ name: 'a', id: claims[1], fencingToken, lease: 9_000, reserve: 0 })]),
    );
  });

  it('leaves the worker when it is exported', async () => {
    const v = await started();
    const lock = await v.acquire('a');
    await lock.export();
    await v.blocked(30_000);
    expect(v.workerBackend.renewed).toEqual([]);
  });

  it('is watched from its adoption on, if the adoption says so', async () => {
    const v = await started({ renewFrom: 'main' });
    const ticket = readTicket(await (await v.acquire('a')).export());
    const lock = await v.client.adopt(ticket, { ...v.client.defaults, renewFrom: 'worker' });
    await v.blocked(30_000);
    expect(lock.isHeld).toBe(true);
    expect(v.workerBackend.renewed[0]).toMatchObject({ id: v.backend.adopted[0]!.id });
  });

  it('is watched when only its call says so, and the others are not', async () => {
    const v = await started({ renewFrom: 'main' });
    const [one, other] = await Promise.all([v.acquire('a', { renewFrom: 'worker' }), v.acquire('b')]);
    await v.blocked(30_000);
    expect([one.isHeld, other.isHeld]).toEqual([true, false]);
  });

  it('is not watched by the worker when its lease is fixed', async () => {
    const v = await started();
    const lock = await v.acquire('a', { lease: '6s' });
    await v.blocked(6_000);
    expect(lock.isHeld).toBe(false);
    expect(v.workerBackend.renewed).toEqual([]);
  });

  it('of several names is not watched by the worker when its lease is fixed', async () => {
    const v = await started();
    const locks = await v.client.acquire(['a', 'b'], resolveOptions({ lease: '6s' }, v.client.defaults));
    await v.blocked(6_000);
    expect(locks.isHeld).toBe(false);
    expect(v.workerBackend.renewed).toEqual([]);
  });

  it('waits for the thread no longer than its own `wait`, which counts from the call', async () => {
    const thread = deferred<void>();
    const v = await started({ renewFrom: 'main', begin: () => thread.promise });
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 60_000 });
    const acquired = watch(v.acquire('a', { renewFrom: 'worker', wait: 5_000 }));
    await v.clock.advance(4_000);
    expect(v.backend.acquired).toEqual([]);
    thread.resolve();
    await v.clock.advance(999);
    expect(acquired.state).toBe('pending');
    await v.clock.advance(1);
    expect(acquired.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('is refused while no thread can start, and the next call tries again', async () => {
    let tries = 0;
    const begin = async (): Promise<void> => {
      if (tries++ === 0) throw new Error('no thread');
    };
    const v = await started({ renewFrom: 'main', begin });
    await expect(v.acquire('a', { renewFrom: 'worker' })).rejects.toThrow('no thread');
    expect(v.backend.acquired).toEqual([]);
    const lock = await v.acquire('a', { renewFrom: 'worker' });
    await v.blocked(30_000);
    expect(lock.isHeld).toBe(true);
  });

  it('is refused where no thread can start at the start, and a call that needs none has a connection', async () => {
    const v = new ClientWithWorker({ begin: () => Promise.reject(new Error('no thread')) });
    await expect(v.start()).rejects.toThrow('no thread');
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000 });
    const acquired = v.acquire('a', { renewFrom: 'main' });
    await settled();
    const { name, id } = v.backend.acquired.at(-1)!;
    v.backend.events.granted({ name, id, fencingToken: 5, tokensUntil: 5, validUntil: v.clock.now() + 3_000 });
    expect((await acquired).isHeld).toBe(true);
  });

  it('ends with its client, also when it begins to run only then', async () => {
    const v = await started();
    await v.client.shutdown(0);
    expect(v.worker!.isClosed).toBe(true);
    const thread = deferred<void>();
    const late = await started({ renewFrom: 'main', begin: () => thread.promise });
    const acquired = watch(late.acquire('a', { renewFrom: 'worker' }));
    const closed = late.client.shutdown(0);
    await late.clock.advance(1);
    thread.resolve();
    await closed;
    expect(late.worker!.isClosed).toBe(true);
    expect(acquired.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(late.backend.acquired).toEqual([]);
  });

  it('shows on the channel of renewals, with what was left of the lease', async () => {
    const v = await started();
    const seen: unknown[] = [];
    const listener = (message: unknown): void => void seen.push(message);
    subscribe('nestjs-redis-lock:renewed', listener);
    try {
      const { fencingToken } = await v.acquire('a');
      await v.blocked(4_600);
      v.unblock();
      expect(seen).toEqual([
        expect.objectContaining({ key: 'a', fencingToken, outcome: 'renewed', lease: 9_000, provisional: false }),
      ]);
      expect((seen[0] as { leaseLeft: number }).leaseLeft).toBeCloseTo(4_491, -2);
    } finally {
      unsubscribe('nestjs-redis-lock:renewed', listener);
    }
  });

  it('is renewed together with the others: 1,000 locks take four commands in each half of the lease', async () => {
    const v = await started();
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => v.acquire(`a${index}`)));
    await v.blocked(27_100);
    expect(v.workerBackend.renewed).toHaveLength(6_000);
    expect(v.workerBackend.log).toHaveLength(24);
  });
});
