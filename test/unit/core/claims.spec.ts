import { describe, expect, it } from '@jest/globals';
import type { AcquireReply, RenewReply } from '../../../lib/core/lock-backend.js';
import { LockConfigurationError, LockUnavailableError } from '../../../lib/errors/lock-errors.js';
import { deferred, unanswered } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient, watch } from './virtual-client.js';

describe('a waiting claim', () => {
  it('asks again at its askAt, with the same id, and keeps its place', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = watch(v.acquire('a', { wait: '1m' }));
    await v.clock.advance(12_000);
    expect(v.backend.acquired).toHaveLength(3);
    expect(new Set(v.backend.acquired.map(({ id: claim }) => claim)).size).toBe(1);
    expect(v.backend.acquired.map(({ again }) => again)).toEqual([false, true, true]);
    expect(waiting.state).toBe('pending');
  });

  it('asks at once when messages may have been missed', async () => {
    const v = new VirtualClient();
    v.letWait();
    watch(v.acquire('a', { wait: '1m' }));
    await settled();
    v.backend.events.recovered();
    await settled();
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('asks once more when a recovery is reported while it asks', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    watch(v.acquire('a', { wait: '1m' }));
    await settled();
    v.backend.events.recovered();
    v.backend.events.recovered();
    v.letWait();
    answer.resolve({ status: 'queued', askAt: v.clock.now() + 5_000 });
    await settled();
    await v.clock.advance(0);
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('gets the whole of a fixed lease when it fetches a grant of an earlier acquire', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = v.acquire('a', { wait: '1m', lease: '10s' });
    await settled();
    v.backend.onAcquire = () => Promise.reject(unanswered());
    v.backend.events.recovered();
    await settled();
    // That acquire was executed: its lease began then.
    const granted = v.backend.grant(10_000);
    v.backend.onAcquire = () => granted;
    await v.clock.advance(1_000);
    const lock = await waiting;
    await v.clock.advance(9_900);
    expect(lock.isHeld).toBe(true);
    expect(v.backend.renewed).toHaveLength(1);
  });

  it('gets the whole of a fixed lease when it fetches a grant whose confirmation got no reply', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = v.acquire('a', { wait: '1m', lease: '10s' });
    await settled();
    v.backend.onRenew = (holds) => holds.map(() => 'unanswered');
    v.push({ bounded: false });
    await settled();
    const granted = v.backend.grant(10_000);
    v.backend.onAcquire = () => granted;
    v.backend.onRenew = (holds) => holds.map(({ lease }) => v.backend.renewal(lease));
    await v.clock.advance(1_000);
    const lock = await waiting;
    await v.clock.advance(9_900);
    expect(lock.isHeld).toBe(true);
  });

  it('keeps asking while no reply comes, and its caller gets LOCK_UNAVAILABLE, not LOCK_WAIT_TIMEOUT', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = watch(v.acquire('a', { wait: '20s' }));
    await settled();
    v.backend.onAcquire = () => Promise.reject(unanswered());
    await v.clock.advance(20_000);
    expect(v.backend.acquired.length).toBeGreaterThan(10);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true, key: 'a' });
    expect(v.backend.released).toHaveLength(1);
  });

  it('rejects with the cause, and does not poll, when the key is unusable', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = watch(v.acquire('a', { wait: '1m' }));
    await settled();
    const wrong = new LockConfigurationError('its key holds something else');
    v.backend.onAcquire = () => Promise.reject(wrong);
    await v.clock.advance(5_000);
    expect(waiting.reason).toBe(wrong);
    await v.clock.advance(60_000);
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('asks when a message says so, also when the message arrived before the reply to its acquire', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    void v.acquire('a', { wait: '1m' });
    v.backend.events.freeAt!(v.backend.acquired[0]!, v.clock.now() + 600);
    v.letWait();
    answer.resolve({ status: 'queued', askAt: v.clock.now() + 5_000 });
    await v.clock.advance(599);
    expect(v.backend.acquired).toHaveLength(1);
    await v.clock.advance(1);
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('rejects its caller within `wait`, counted from the call', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const waiting = watch(v.acquire('a', { wait: 1_000 }));
    await v.clock.advance(900);
    v.letWait();
    answer.resolve({ status: 'queued', askAt: v.clock.now() + 5_000 });
    await v.clock.advance(99);
    expect(waiting.state).toBe('pending');
    await v.clock.advance(1);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });
});

describe('a first acquire', () => {
  it('that gets no reply rejects every caller of the process, and is certainly released', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const callers = [watch(v.acquire('a')), watch(v.acquire('a'))];
    answer.reject(unanswered());
    await settled();
    expect(callers).toMatchObject([{ reason: { code: 'LOCK_UNAVAILABLE' } }, { reason: { code: 'LOCK_UNAVAILABLE' } }]);
    expect(v.backend.released).toHaveLength(1);
    // Once more, when the lost acquire cannot be executed any more.
    await v.clock.advance(v.backend.commandTimeout - 1);
    expect(v.backend.released).toHaveLength(1);
    await v.clock.advance(5 * v.backend.commandTimeout);
    expect(v.backend.released).toHaveLength(2);
    await v.clock.advance(60_000);
    expect(v.backend.released).toHaveLength(2);
    expect(v.clock.pending).toBe(0);
  });

  it('that was never sent needs no release', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => Promise.reject(new LockUnavailableError('not connected'));
    await expect(v.acquire('a')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    await v.clock.advance(60_000);
    expect(v.backend.released).toEqual([]);
    expect(v.clock.pending).toBe(0);
  });

  it('that was sent late counts from its failure: a busy server may have received it long after the call', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const caller = watch(v.acquire('a', { wait: '5s' }));
    await v.clock.advance(3_000);
    answer.reject(unanswered());
    await v.clock.advance(v.backend.commandTimeout - 1);
    expect(v.backend.released).toHaveLength(1);
    await v.clock.advance(5 * v.backend.commandTimeout);
    expect(v.backend.released).toHaveLength(2);
    expect(caller.state).toBe('rejected');
  });

  it('of a caller that left is released after it, and again when that got no reply', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const abort = new AbortController();
    const caller = watch(v.acquire('a', { signal: abort.signal }));
    abort.abort();
    await settled();
    expect(caller.state).toBe('rejected');
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
    answer.reject(unanswered());
    await v.clock.advance(v.backend.commandTimeout - 1);
    const early = v.backend.released.length;
    await v.clock.advance(5 * v.backend.commandTimeout);
    expect(v.backend.released.length).toBeGreaterThan(early);
  });

  it('passes its grant on to the next caller, which gets the lease that it requested', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const abort = new AbortController();
    const first = watch(v.acquire('a', { lease: 1_000, signal: abort.signal }));
    const second = v.acquire('a', { lease: '30s' });
    abort.abort();
    answer.resolve(v.backend.grant(1_000));
    const lock = await second;
    expect(first.state).toBe('rejected');
    await v.clock.advance(20_000);
    expect(lock.isHeld).toBe(true);
  });

  it('without waiting is sent again for a caller that waits', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const one = watch(v.acquire('a', { wait: 0 }));
    const two = watch(v.acquire('a', { wait: '1m' }));
    v.letWait();
    answer.resolve({ status: 'contended', leaseLeft: 699.2 });
    await settled();
    expect(one.reason).toMatchObject({ code: 'LOCK_CONTENDED', leaseLeft: 700 });
    expect(two.state).toBe('pending');
    expect(v.backend.acquired.map(({ enqueue }) => enqueue)).toEqual([false, true]);
  });

  it.each(['queued', 'recovered'] as const)(
    'of a caller that left leaves no place in the queue if only a caller that does not wait follows (%s)',
    async (how) => {
      const v = new VirtualClient();
      const answer = deferred<AcquireReply>();
      v.backend.onAcquire = () => answer.promise;
      const abort = new AbortController();
      watch(v.acquire('a', { wait: '1m', signal: abort.signal }));
      const impatient = watch(v.acquire('a', { wait: 0 }));
      abort.abort();
      await settled();
      if (how === 'recovered') v.backend.events.recovered();
      answer.resolve({ status: 'queued', askAt: v.clock.now() + 5_000 });
      await settled();
      expect(impatient.reason).toMatchObject({ code: 'LOCK_CONTENDED' });
      expect(v.backend.log).toEqual(['acquire a', 'release a']);
      await v.clock.advance(60_000);
      expect(v.backend.log).toEqual(['acquire a', 'release a']);
      expect(v.clock.pending).toBe(0);
    },
  );

  it('with the reply to wait, while too many callers wait here, leaves neither a place nor a timer behind', async () => {
    const v = new VirtualClient({ maxWaiters: 1 });
    v.letWait();
    const other = watch(v.acquire('b', { wait: 10 }));
    await settled();
    await expect(v.acquire('a')).rejects.toMatchObject({ code: 'LOCK_QUEUE_FULL' });
    await v.clock.advance(10);
    expect(other.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    expect(v.backend.log).toEqual(['acquire b', 'acquire a', 'release a', 'release b']);
    expect(v.clock.pending).toBe(0);
  });

  it('with the reply to wait, while too many callers wait behind it, keeps its place: the last of them is refused', async () => {
    const v = new VirtualClient({ maxWaiters: 2 });
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const callers = Array.from({ length: 5 }, (_, index) => watch(v.acquire('a', { label: `call ${index}` })));
    v.letWait();
    answer.resolve({ status: 'queued', askAt: v.clock.now() + 5_000 });
    await settled();
    expect(callers.map(({ state }) => state)).toEqual(['pending', 'pending', 'rejected', 'rejected', 'rejected']);
    const refused = (index: number) => ({
      code: 'LOCK_QUEUE_FULL',
      message: expect.stringMatching(`^'call ${index}': `),
    });
    expect(callers.slice(2).map(({ reason }) => reason)).toMatchObject([2, 3, 4].map(refused));
    expect(v.client.counts.waiting).toBe(2);
    await v.client.shutdown(0);
    expect(v.client.counts.waiting).toBe(0);
  });
});

describe('a pushed grant', () => {
  it('of unknown age is confirmed before the holder starts (G2)', async () => {
    const v = new VirtualClient();
    v.letWait();
    const caller = v.acquire('a');
    const seen = watch(caller);
    await settled();
    const answer = deferred<RenewReply[]>();
    v.backend.onRenew = () => answer.promise;
    v.push({ bounded: false });
    await settled();
    expect(seen.state).toBe('pending');
    expect(v.backend.renewed).toMatchObject([{ fencingToken: 9_000_000, lease: 30_000 }]);
    answer.resolve([v.backend.renewal(30_000)]);
    expect((await caller).isHeld).toBe(true);
  });

  it('that is lost at its confirmation makes its claim ask again', async () => {
    const v = new VirtualClient();
    v.letWait();
    const seen = watch(v.acquire('a', { wait: '1m' }));
    await settled();
    v.backend.onRenew = () => ['lost'];
    v.push({ bounded: false });
    await settled();
    await v.clock.advance(0);
    expect(seen.state).toBe('pending');
    expect(v.backend.acquired).toHaveLength(2);
  });

  it('that comes twice is used once', async () => {
    const v = new VirtualClient();
    v.letWait();
    const caller = v.acquire('a');
    await settled();
    v.push({ token: 9_000_000 });
    v.push({ token: 9_000_000 });
    const lock = await caller;
    v.push({ token: 9_000_000 });
    await settled();
    expect(lock.isHeld).toBe(true);
    expect(v.backend.released).toEqual([]);
  });

  it('for a claim without callers is released at once', async () => {
    const v = new VirtualClient();
    v.letWait();
    const abort = new AbortController();
    const seen = watch(v.acquire('a', { signal: abort.signal }));
    await settled();
    const [claim] = v.backend.acquired;
    abort.abort();
    await settled();
    expect(seen.state).toBe('rejected');
    v.push({ claim: claim! });
    await settled();
    expect(v.backend.released.map((released) => released.id)).toEqual([claim!.id, claim!.id]);
  });

  it('is used even if the poll at the same moment gets no reply', async () => {
    const v = new VirtualClient();
    v.letWait();
    const caller = v.acquire('a');
    await settled();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    await v.clock.advance(5_000);
    v.push();
    answer.reject(unanswered());
    const lock = await caller;
    await settled();
    expect(lock.isHeld).toBe(true);
    await lock.release();
    // The poll may still be executed after the release.
    await v.clock.advance(5 * v.backend.commandTimeout);
    expect(v.backend.released.length).toBeGreaterThanOrEqual(2);
  });
});

describe('releases', () => {
  it('are repeated until they get a reply', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lock.release();
    await v.clock.advance(5_000);
    const tries = v.backend.released.length;
    expect(tries).toBeGreaterThan(3);
    v.backend.onRelease = () => 'absent';
    await v.clock.advance(1_000);
    expect(v.backend.released).toHaveLength(tries + 1);
    await v.clock.advance(60_000);
    expect(v.backend.released).toHaveLength(tries + 1);
    expect(v.clock.pending).toBe(0);
  });

  it('are repeated even if timers fire a little early, as those of Node do', async () => {
    const v = new VirtualClient();
    v.clock.earlyBy = 1.5;
    const lock = await v.acquire('a');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lock.release();
    v.backend.onRelease = () => 'absent';
    await v.clock.advance(5_000);
    expect(v.backend.released).toHaveLength(2);
  });

  it('are repeated at once when calls succeed again', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lock.release();
    v.backend.onRelease = () => 'released';
    v.backend.events.recovered();
    await settled();
    expect(v.backend.released).toHaveLength(2);
  });

  it('end when the backend has forgotten the claim by itself', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: 1_000 });
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lock.release();
    await v.clock.advance(60_000);
    const tries = v.backend.released.length;
    await v.clock.advance(600_000);
    expect(v.backend.released).toHaveLength(tries);
    expect(v.clock.pending).toBe(0);
  });

  it('are repeated for as long as the renewed lease may last, not only the first one', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a', { lease: 1_000 });
    await lock.renew('5m');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lock.release();
    await v.clock.advance(290_000);
    v.backend.onRelease = () => 'released';
    const tries = v.backend.released.length;
    await v.clock.advance(1_000);
    expect(v.backend.released).toHaveLength(tries + 1);
  });

  it('are repeated for as long as the longest lease requested by a caller of the process may last', async () => {
    const v = new VirtualClient();
    const callers = [
      v.acquire('a', { lease: 1_000 }),
      v.acquire('a', { lease: 1_000 }),
      v.acquire('a', { lease: '5m' }),
    ];
    for (const caller of callers.slice(0, 2)) await (await caller).release();
    v.backend.onRelease = () => Promise.reject(unanswered());
    await (await callers[2]!).release();
    expect(v.backend.log.filter((line) => line === 'acquire a')).toHaveLength(2);
    await v.clock.advance(290_000);
    const tries = v.backend.released.length;
    await v.clock.advance(1_000);
    expect(v.backend.released.length).toBeGreaterThan(tries);
  });

  it('report no loss when only their repetition finds no lock', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await scope.leave('worked');
    v.backend.onRelease = () => 'absent';
    await v.clock.advance(10_000);
    expect(v.log.lines).toEqual([]);
  });
});

describe('a caller whose wait is over', () => {
  /** The lock has been held in this process until now; the next acquire gets no reply. */
  async function askedAnew(v: VirtualClient, wait: number) {
    const holder = await v.acquire('a');
    v.letWait();
    const waiting = watch(v.acquire('a', { wait }));
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    return { holder, waiting, answer };
  }

  it('while its process asks again gets LOCK_WAIT_TIMEOUT, not LOCK_UNAVAILABLE', async () => {
    const v = new VirtualClient();
    const { holder, waiting } = await askedAnew(v, 250);
    await v.clock.advance(245);
    await holder.release();
    await v.clock.advance(5);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('after an acquire of its process was pending for `commandTimeout` gets LOCK_UNAVAILABLE', async () => {
    const v = new VirtualClient();
    const { holder, waiting } = await askedAnew(v, 1_000);
    await v.clock.advance(1_000 - v.backend.commandTimeout);
    await holder.release();
    await v.clock.advance(v.backend.commandTimeout);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
  });

  it('while the first acquire of its process is on its way gets LOCK_WAIT_TIMEOUT', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => deferred<AcquireReply>().promise;
    const [first, second] = [watch(v.acquire('a', { wait: 1_000 })), watch(v.acquire('a', { wait: 5 }))];
    await v.clock.advance(5);
    expect(first.state).toBe('pending');
    expect(second.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT', holder: undefined, leaseLeft: undefined });
  });

  it('while the connection is lost gets LOCK_UNAVAILABLE, even if the wait was short', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => deferred<AcquireReply>().promise;
    watch(v.acquire('a', { wait: 1_000 }));
    const waiting = watch(v.acquire('a', { wait: 5 }));
    Object.assign(v.backend, { availability: () => [['a server', false]] });
    await v.clock.advance(5);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
  });

  it('that had a reply before the connection was lost gets LOCK_WAIT_TIMEOUT', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = watch(v.acquire('a', { wait: 50 }));
    await settled();
    Object.assign(v.backend, { availability: () => [['a server', false]] });
    await v.clock.advance(50);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('after a reply to its process came during its wait gets LOCK_WAIT_TIMEOUT', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const waiting = [watch(v.acquire('a', { wait: 1_000 })), watch(v.acquire('a', { wait: 100 }))];
    await v.clock.advance(50);
    answer.resolve({ status: 'queued', askAt: v.clock.now() + 20 });
    v.backend.onAcquire = () => deferred<AcquireReply>().promise;
    await v.clock.advance(50);
    expect(waiting[1]!.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('after an acquire that failed gets LOCK_UNAVAILABLE', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = watch(v.acquire('a', { wait: 5_500 }));
    await settled();
    v.backend.onAcquire = () => Promise.reject(new LockUnavailableError('not connected'));
    await v.clock.advance(5_500);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe('callers with a single try', () => {
  const oneTry = { wait: 0 };

  it('share an acquire: callers that came before it was sent get its reply', async () => {
    const v = new VirtualClient();
    const answers = [deferred<AcquireReply>(), deferred<AcquireReply>(), deferred<AcquireReply>()];
    v.backend.onAcquire = () => answers[v.backend.acquired.length - 1]!.promise;
    const first = watch(v.acquire('a', oneTry));
    const others = Array.from({ length: 100 }, () => watch(v.acquire('a', oneTry)));
    answers[0]!.resolve({ status: 'contended', leaseLeft: 10 });
    await settled();
    expect(first.reason).toMatchObject({ code: 'LOCK_CONTENDED' });
    // The lock may have been freed between its reply and their call.
    expect(others.every(({ state }) => state === 'pending')).toBe(true);
    const late = watch(v.acquire('a', oneTry));
    answers[1]!.resolve({ status: 'contended', leaseLeft: 10 });
    await settled();
    expect(others.every(({ state }) => state === 'rejected')).toBe(true);
    expect(late.state).toBe('pending');
    answers[2]!.resolve(v.backend.grant(1_000));
    await settled();
    expect(late.state).toBe('resolved');
    expect(v.backend.acquired).toHaveLength(3);
  });

  it('do not keep a waiting caller behind them out of the queue', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const tries = Array.from({ length: 3 }, () => watch(v.acquire('a', oneTry)));
    const waiting = watch(v.acquire('a', { wait: '1m' }));
    v.letWait();
    answer.resolve({ status: 'contended', leaseLeft: 10 });
    await settled();
    expect(v.backend.acquired.map(({ enqueue }) => enqueue)).toEqual([false, true]);
    expect(tries.every(({ state }) => state === 'rejected')).toBe(true);
    expect(waiting.state).toBe('pending');
    v.push();
    await settled();
    expect(waiting.state).toBe('resolved');
  });

  it('behind an acquire that has to wait are contended, however many callers may wait', async () => {
    const v = new VirtualClient({ maxWaiters: 1 });
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const waiting = watch(v.acquire('a', { wait: '1m' }));
    const tries = Array.from({ length: 3 }, () => watch(v.acquire('a', oneTry)));
    answer.resolve({ status: 'queued', askAt: v.clock.now() + 5_000 });
    await settled();
    expect(waiting.state).toBe('pending');
    expect(tries).toMatchObject(Array(3).fill({ reason: { code: 'LOCK_CONTENDED' } }));
  });

  it('behind an acquire without a reply get LOCK_UNAVAILABLE within `commandTimeout`', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => deferred<AcquireReply>().promise;
    watch(v.acquire('a', { wait: '1m' }));
    const behind = watch(v.acquire('a', oneTry));
    await v.clock.advance(v.backend.commandTimeout - 1);
    expect(behind.state).toBe('pending');
    await v.clock.advance(1);
    expect(behind.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('are rejected together when the backend is unavailable', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => Promise.reject(new LockUnavailableError('not connected'));
    const tries = Array.from({ length: 50 }, () => watch(v.acquire('a', oneTry)));
    await settled();
    expect(tries.every(({ state }) => state === 'rejected')).toBe(true);
    expect(v.backend.acquired.length).toBeLessThanOrEqual(2);
  });
});

describe('the callers of one process', () => {
  it('that are refused leave nothing behind in it', async () => {
    const v = new VirtualClient({ maxWaiters: 1 });
    v.letWait();
    watch(v.acquire('a', { wait: Number.POSITIVE_INFINITY }));
    await settled();
    for (const fairness of ['handoff', 'strict'] as const) {
      for (let index = 0; index < 100; index++) {
        await expect(v.acquire(`b${index}`, { fairness })).rejects.toMatchObject({ code: 'LOCK_QUEUE_FULL' });
      }
    }
    expect(v.client.everyQueue()).toHaveLength(1);
  });

  it('leave nothing behind when they have ended, with any outcome (G9)', async () => {
    const v = new VirtualClient();
    for (const fairness of ['handoff', 'strict'] as const) {
      await (await v.acquire('a', { fairness })).release();
      v.backend.onAcquire = () => ({ status: 'contended', leaseLeft: 1 });
      await expect(v.acquire('a', { wait: 0, fairness })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      v.letWait();
      const timedOut = watch(v.acquire('a', { wait: 10, fairness }));
      await v.clock.advance(10);
      expect(timedOut.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
      const abort = new AbortController();
      const aborted = watch(v.acquire('a', { signal: abort.signal, fairness }));
      await settled();
      abort.abort();
      await settled();
      expect(aborted.state).toBe('rejected');
      v.backend.onAcquire = (request) => v.backend.grant(request.lease);
    }
    expect([v.client.everyQueue().length, v.client.holds.size]).toEqual([0, 0]);
    expect(v.clock.pending).toBe(0);
  });

  it('pass the lock on with larger tokens and no request in between; a renewal restores the lease (local hand-off)', async () => {
    const v = new VirtualClient();
    const locks = [v.acquire('a'), v.acquire('a'), v.acquire('a'), v.acquire('a')];
    const first = await locks[0]!;
    await first.release();
    // The first claim had no tokens for hand-offs: no caller waited when it was sent.
    const second = await locks[1]!;
    const log = [...v.backend.log];
    await v.clock.advance(1_000);
    const answer = deferred<RenewReply[]>();
    v.backend.onRenew = () => answer.promise;
    await second.release();
    const third = await locks[2]!;
    expect(third.fencingToken).toBe(second.fencingToken + 1);
    expect(v.backend.log).toEqual([...log, 'renew a']);
    expect(third.isHeld).toBe(true);
    expect(third.leaseLeft).toBeLessThan(29_000);
    answer.resolve([v.backend.renewal(30_000)]);
    await settled();
    expect(third.leaseLeft).toBe(30_000 - 30 - 2);
  });

  it.each([
    ['less than half of the lease is certain', (v: VirtualClient) => v.clock.stall(600)],
    ['the lease is over', (v: VirtualClient) => v.clock.stall(1_000)],
  ])('never pass it on when %s', async (_, spoil) => {
    const v = new VirtualClient();
    const options = { lease: 1_000 };
    const [first, second, third] = [v.acquire('a', options), v.acquire('a', options), v.acquire('a', options)];
    await (await first).release();
    const lock = await second;
    const asked = v.backend.acquired.length;
    spoil(v);
    await lock.release();
    await third;
    expect(v.backend.acquired).toHaveLength(asked + 1);
  });

  it('never pass it on without a reserved token', async () => {
    const v = new VirtualClient();
    v.backend.tokensInHand = 1;
    const locks = Array.from({ length: 4 }, () => v.acquire('a'));
    await (await locks[0]!).release();
    const asked = v.backend.acquired.length;
    v.backend.onRenew = () => ['unanswered'];
    const second = await locks[1]!;
    await second.release();
    // One token: one hand-off. No reply brought further ones.
    const third = await locks[2]!;
    expect(third.fencingToken).toBe(second.fencingToken + 1);
    expect(v.backend.acquired).toHaveLength(asked);
    await third.release();
    expect((await locks[3]!).fencingToken).toBeGreaterThan(third.fencingToken + 1);
    expect(v.backend.acquired).toHaveLength(asked + 1);
  });

  it('pass it on at most 16 times, and for at most 50 ms, while others wait', async () => {
    for (const [pause, most] of [
      [0, 16],
      [30, 1],
    ] as const) {
      const v = new VirtualClient();
      v.backend.othersWait = true;
      const locks = Array.from({ length: 20 }, () => v.acquire('a'));
      await (await locks[0]!).release();
      const asked = v.backend.acquired.length;
      let handOffs = -1;
      for (let index = 1; v.backend.acquired.length === asked; index++) {
        const lock = await locks[index]!;
        handOffs++;
        await v.clock.advance(pause);
        await lock.release();
      }
      expect(handOffs).toBe(most);
    }
  });
});

describe('shutdown', () => {
  it('does not wait for a lock that is lost, and names the locks that it waits for', async () => {
    const v = new VirtualClient();
    await v.acquire('over', { lease: 1_000 });
    await v.clock.advance(2_000);
    const lock = await v.acquire('report');
    const end = watch(v.client.shutdown(10_000));
    await v.clock.advance(100);
    expect(end.state).toBe('pending');
    expect(v.log.lines.at(-1)).toEqual(expect.stringContaining("'report'"));
    expect(v.log.lines.at(-1)).not.toEqual(expect.stringContaining("'over'"));
    await lock.release();
    await settled();
    expect(end.state).toBe('resolved');
  });

  it('does not wait longer for a lock that is lost while it waits', async () => {
    const v = new VirtualClient();
    await v.acquire('a', { lease: 1_000 });
    const end = watch(v.client.shutdown(10_000));
    await v.clock.advance(1_000);
    expect(end.state).toBe('resolved');
  });

  it('leaves no timer, in any state', async () => {
    const v = new VirtualClient();
    await v.acquire('held', { lease: '9s', renew: true });
    const overdue = await v.acquire('overdue', { maxHold: 1 });
    await v.clock.advance(10);
    const lost = await v.acquire('unanswered');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lost.release();
    v.letWait();
    const waiting = watch(v.acquire('waiting', { wait: Number.POSITIVE_INFINITY }));
    await settled();
    const closed = v.client.shutdown(1_000);
    // The release that failed has one more `commandTimeout`.
    await v.clock.advance(1_000 + v.backend.commandTimeout);
    await closed;
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await overdue.release();
    await v.clock.advance(1);
    expect(v.backend.closed).toBe(true);
    expect(v.clock.pending).toBe(0);
  });

  it('rejects at its end the callers that began to wait after it', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a');
    v.letWait();
    const closed = v.client.shutdown(1_000);
    const waiting = watch(scope.run(() => v.acquire('b', { wait: Number.POSITIVE_INFINITY })));
    await v.clock.advance(999);
    expect(waiting.state).toBe('pending');
    await v.clock.advance(1);
    await closed;
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(scope.run(() => v.acquire('c'))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(v.clock.pending).toBe(0);
  });

  it('sends a failed release again when the backend is back, and waits for that for at most `commandTimeout`', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    const { onRelease } = v.backend;
    v.backend.onRelease = () => Promise.reject(unanswered());
    await lock.release();
    const end = watch(v.client.shutdown(0));
    await v.clock.advance(v.backend.commandTimeout - 1);
    expect(end.state).toBe('pending');
    v.backend.onRelease = onRelease;
    v.backend.events.recovered();
    await v.clock.advance(0);
    expect(end.state).toBe('resolved');
    expect(v.clock.pending).toBe(0);
  });

  it('ends at once when no lock is held', async () => {
    const v = new VirtualClient();
    await v.client.shutdown(60_000);
    expect(v.backend.closed).toBe(true);
  });
});
