import { describe, expect, it } from '@jest/globals';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient } from './virtual-client.js';

describe('the watchdog', () => {
  it('renews every third of the lease, until the release', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: '9s', renew: true });
    await v.clock.advance(2_999);
    expect(v.backend.renewed).toEqual([]);
    await v.clock.advance(1);
    expect(v.backend.renewed).toMatchObject([{ name: 'a', lease: 9_000, fencingToken: lock.fencingToken }]);
    await v.clock.advance(60_000);
    expect(v.backend.renewed).toHaveLength(21);
    expect(lock.isHeld).toBe(true);
    await lock.release();
    await v.clock.advance(60_000);
    expect(v.backend.renewed).toHaveLength(21);
    expect(v.clock.pending).toBe(0);
  });

  it('tries again well inside the lease when a renewal got no reply, and the lock survives', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: '12s', renew: true });
    const { onRenew } = v.backend;
    v.backend.onRenew = () => ['unanswered'];
    await v.clock.advance(9_000);
    const tries = v.backend.renewed.length;
    expect(tries).toBeGreaterThan(2);
    v.backend.onRenew = onRenew;
    await v.clock.advance(2_500);
    expect(lock.isHeld).toBe(true);
    await v.clock.advance(60_000);
    expect(lock.isHeld).toBe(true);
  });

  it('keeps a lock whose replies take almost two thirds of its lease', async () => {
    const v = new VirtualClient();
    const { clock, backend } = v;
    const slow = <T>(answer: T): Promise<T> => new Promise((resolve) => clock.timer(1_500, () => resolve(answer)));
    // The reply counts from the sending, as a real one does.
    backend.onRenew = (holds) => slow(holds.map(({ lease }) => backend.renewal(lease)));
    const lock = await v.acquire('a', { lease: 2_400, renew: true });
    await clock.advance(60_000);
    expect(lock.isHeld).toBe(true);
    // Every third of the lease, as with fast replies.
    expect(backend.renewed).toHaveLength(60_000 / 800);
  });

  it('keeps a lock whose grant and renewals take two fifths of its lease', async () => {
    const v = new VirtualClient();
    const { clock, backend } = v;
    const slow = <T>(answer: T): Promise<T> => new Promise((resolve) => clock.timer(960, () => resolve(answer)));
    backend.onAcquire = ({ lease }) => slow(backend.grant(lease));
    backend.onRenew = (holds) => slow(holds.map(({ lease }) => backend.renewal(lease)));
    const acquired = v.acquire('a', { lease: 2_400, renew: true });
    await clock.advance(960);
    const lock = await acquired;
    await clock.advance(60_000);
    expect(lock.isHeld).toBe(true);
  });

  it('renews every hold as soon as calls succeed again: the server may have lost everything', async () => {
    const v = new VirtualClient();
    await v.acquire('a', { lease: '30s', renew: true });
    await v.clock.advance(1_000);
    await v.acquire('b', { lease: '120s', renew: true });
    const { onRenew } = v.backend;
    v.backend.onRenew = () => ['unanswered'];
    await v.clock.advance(9_000);
    expect(v.backend.renewed.map(({ name }) => name)).toEqual(['a']);
    v.backend.onRenew = onRenew;
    v.backend.events.recovered();
    await settled();
    expect(v.backend.renewed.map(({ name }) => name)).toEqual(['a', 'a', 'b']);
  });

  it('signals a loss not later than validUntil while no reply comes (G8)', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: '12s', renew: true });
    const { signal, leaseLeft } = lock;
    v.backend.onRenew = () => new Promise(() => undefined);
    let lostAt: number | undefined;
    signal.addEventListener('abort', () => (lostAt = v.clock.now()));
    const end = v.clock.now() + leaseLeft;
    await v.clock.advance(20_000);
    expect(lostAt).toBe(end);
    expect(signal.reason).toMatchObject({ reason: 'expired' });
  });

  it('lets no renewal hide a loss: after a stall the lease is checked first', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: '9s', renew: true });
    v.clock.stall(9_000);
    await v.clock.advance(0);
    expect(v.backend.renewed).toEqual([]);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('confirms a pushed grant before a third of it is over, also with a fixed lease', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = v.acquire('a', { lease: '30s' });
    await settled();
    v.push({ lease: 3_000 });
    const lock = await waiting;
    await v.clock.advance(999);
    expect(v.backend.renewed).toEqual([]);
    await v.clock.advance(2);
    expect(v.backend.renewed).toHaveLength(1);
    // Up to its end, not beyond.
    expect(v.backend.renewed[0]!.lease).toBeLessThanOrEqual(29_000);
    await v.clock.advance(20_000);
    expect(lock.isHeld).toBe(true);
    expect(v.backend.renewed).toHaveLength(1);
    await v.clock.advance(9_500);
    expect(lock.isHeld).toBe(false);
  });

  it('needs no confirmation for a hold that ends sooner', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = v.acquire('a');
    await settled();
    v.push();
    await (await waiting).release();
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
    expect(v.clock.pending).toBe(0);
  });

  it('renews 5,000 locks of 10 s in at most 10 requests per second', async () => {
    const v = new VirtualClient();
    for (let step = 0; step < 100; step++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => v.acquire(`${step}:${index}`, { lease: '10s', renew: true })),
      );
      await v.clock.advance(100);
    }
    let requests = 0;
    const { onRenew } = v.backend;
    v.backend.onRenew = (holds) => {
      requests++;
      return onRenew(holds);
    };
    v.backend.renewed.length = 0;
    await v.clock.advance(20_000);
    expect(requests).toBeLessThanOrEqual(200);
    // Every lock was renewed at least every half of its lease.
    const times = new Map<string, number>();
    for (const { name } of v.backend.renewed) times.set(name, (times.get(name) ?? 0) + 1);
    expect(times.size).toBe(5_000);
    expect(Math.min(...times.values())).toBeGreaterThanOrEqual(4);
  });

  it('renews a few hundred locks at a time, and skips holds that have ended in between', async () => {
    const v = new VirtualClient();
    const locks = await Promise.all(
      Array.from({ length: 600 }, (_, index) => v.acquire(`${index}`, { lease: '9s', renew: true })),
    );
    const batches: number[] = [];
    const asked = new Set<string>();
    v.backend.onRenew = (holds) => {
      batches.push(holds.length);
      for (const { name } of holds) asked.add(name);
      // A batch without a reply delays no other one.
      return new Promise(() => undefined);
    };
    await v.clock.advance(3_000);
    expect(batches).toEqual([250]);
    await locks.find(({ key }) => !asked.has(key))!.release();
    await v.clock.advance(10);
    expect(batches).toEqual([250, 250, 99]);
    expect(asked.size).toBe(599);
  });

  it('signals each of a thousand losses at its time while no renewal gets a reply', async () => {
    const v = new VirtualClient();
    const locks = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => v.acquire(`${index}`, { lease: '9s', renew: true })),
    );
    const ends = locks.map((lock) => v.clock.now() + lock.leaseLeft);
    const lostAt: number[] = [];
    locks.forEach(({ signal }, index) => signal.addEventListener('abort', () => (lostAt[index] = v.clock.now())));
    v.backend.onRenew = () => new Promise(() => undefined);
    await v.clock.advance(20_000);
    // One pass of the watchdog checks a few hundred locks; the next one follows after a turn of the event loop.
    locks.forEach((_, index) => expect(lostAt[index]! - ends[index]!).toBeLessThan(5));
  });

  it('leaves the event loop a turn between a few hundred holds and the next', async () => {
    const v = new VirtualClient();
    const locks = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => v.acquire(`${index}`, { lease: '9s', renew: true })),
    );
    let lost = 0;
    for (const { signal } of locks) signal.addEventListener('abort', () => lost++);
    v.clock.stall(9_000);
    const seen: number[] = [];
    for (const time of [0, 1, 1, 1]) {
      await v.clock.advance(time);
      seen.push(lost);
    }
    expect(seen).toEqual([250, 500, 750, 1_000]);
  });

  it('checks once a hold that renew() renewed, and again when it is due', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: '9s', renew: true });
    await v.clock.advance(2_000);
    await lock.renew();
    let timers = 0;
    const { timer } = v.clock;
    v.clock.timer = (...args) => {
      timers++;
      return timer.apply(v.clock, args);
    };
    await v.clock.advance(2_900);
    expect(timers).toBe(1);
    expect(v.backend.renewed).toHaveLength(1);
    await v.clock.advance(200);
    expect(v.backend.renewed).toHaveLength(2);
  });

  it('renews all due holds even if one pass saw only some of them', async () => {
    const v = new VirtualClient();
    const locks = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => v.acquire(`${index}`, { lease: '9s', renew: true })),
    );
    v.backend.events.recovered();
    await v.clock.advance(10);
    expect(new Set(v.backend.renewed.map(({ name }) => name)).size).toBe(1_000);
    await v.clock.advance(60_000);
    expect(locks.every((lock) => lock.isHeld)).toBe(true);
  });

  it('of one lost hold continues with the others', async () => {
    const v = new VirtualClient();
    const [a, b] = [
      await v.acquire('a', { lease: '9s', renew: true }),
      await v.acquire('b', { lease: '9s', renew: true }),
    ];
    v.backend.onRenew = (holds) => holds.map(({ name, lease }) => (name === 'a' ? 'lost' : v.backend.renewal(lease)));
    await v.clock.advance(3_000);
    expect(a.signal.reason).toMatchObject({ reason: 'revoked' });
    expect(v.backend.released.map(({ name }) => name)).toEqual(['a']);
    await v.clock.advance(60_000);
    expect(b.isHeld).toBe(true);
    expect(v.backend.renewed.filter(({ name }) => name === 'a')).toHaveLength(1);
  });
});
