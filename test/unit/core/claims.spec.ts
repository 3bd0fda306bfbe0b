import { describe, expect, it } from '@jest/globals';
import type { AcquireReply, RenewReply } from '../../../lib/core/lock-backend.js';
import { LockConfigurationError, LockUnavailableError } from '../../../lib/errors/lock-errors.js';
import { deferred, unanswered } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient, watch } from './virtual-client.js';

describe('a waiting claim', () => {
  it('asks again when it was told to, with the same id, and keeps its place', async () => {
    const v = new VirtualClient();
    v.letWait();
    const waiting = watch(v.acquire('a', { wait: '1m' }));
    await v.clock.advance(12_000);
    expect(v.backend.acquired).toHaveLength(3);
    expect(new Set(v.backend.acquired.map(({ claim }) => claim)).size).toBe(1);
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

  it('that hears of a recovery while it asks, asks once more', async () => {
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

  it('goes on asking while nothing is answered, and its caller is told of silence, not of a lock that is held', async () => {
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

  it('that cannot be had at all is refused with what is wrong, not polled for', async () => {
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

  it('gives its caller up within `wait`, counted from the call', async () => {
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

describe('a first question', () => {
  it('that is not answered rejects every caller here, and is released for certain', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const callers = [watch(v.acquire('a')), watch(v.acquire('a'))];
    answer.reject(unanswered());
    await settled();
    expect(callers).toMatchObject([{ reason: { code: 'LOCK_UNAVAILABLE' } }, { reason: { code: 'LOCK_UNAVAILABLE' } }]);
    expect(v.backend.released).toHaveLength(1);
    // Once more, when the lost question cannot be executed any more.
    await v.clock.advance(v.backend.commandTimeout - 1);
    expect(v.backend.released).toHaveLength(1);
    await v.clock.advance(5 * v.backend.commandTimeout);
    expect(v.backend.released).toHaveLength(2);
    await v.clock.advance(60_000);
    expect(v.backend.released).toHaveLength(2);
    expect(v.clock.pending).toBe(0);
  });

  it('that was never sent leaves nothing to release', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = () => Promise.reject(new LockUnavailableError('not connected'));
    await expect(v.acquire('a')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    await v.clock.advance(60_000);
    expect(v.backend.released).toEqual([]);
    expect(v.clock.pending).toBe(0);
  });

  it('that was late counts from its failure: a busy server may have got it long after the call', async () => {
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

  it('of a caller that left is released behind it, and again when it went unanswered', async () => {
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

  it('passes its answer on to the next caller, who gets the lease it wanted', async () => {
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

  it('without waiting is asked anew for who is ready to wait', async () => {
    const v = new VirtualClient();
    const answer = deferred<AcquireReply>();
    v.backend.onAcquire = () => answer.promise;
    const one = watch(v.acquire('a', { wait: 0 }));
    const two = watch(v.acquire('a', { wait: '1m' }));
    v.letWait();
    answer.resolve({ status: 'contended', rest: 700 });
    await settled();
    expect(one.reason).toMatchObject({ code: 'LOCK_CONTENDED', retryAfter: 700 });
    expect(two.state).toBe('pending');
    expect(v.backend.acquired.map(({ enqueue }) => enqueue)).toEqual([false, true]);
  });

  it.each(['queued', 'recovered'] as const)(
    'of a caller that left, behind which there is only who does not wait, leaves no place in the queue behind (%s)',
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

  it('whose answer is to wait, though too many do here, leaves neither a place nor a timer behind', async () => {
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
});

describe('a pushed grant', () => {
  it('whose age is not bounded is confirmed before the holder starts (G2)', async () => {
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

  it('that is found lost on confirming sends its claim back to asking', async () => {
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

  it('that comes twice is taken once', async () => {
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

  it('for a claim that nobody wants any more is given back at once', async () => {
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
    expect(v.backend.released.map((released) => released.claim)).toEqual([claim!.claim, claim!.claim]);
  });

  it('is taken though the poll at the same moment goes unanswered', async () => {
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
    // The poll may still be executed behind the release.
    await v.clock.advance(5 * v.backend.commandTimeout);
    expect(v.backend.released.length).toBeGreaterThanOrEqual(2);
  });
});

describe('releases', () => {
  it('are repeated until they are answered', async () => {
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

  it('are repeated though timers fire a little early, as those of Node do', async () => {
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

  it('are no loss when only their repetition finds nothing', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a');
    v.backend.onRelease = () => Promise.reject(unanswered());
    await scope.leave('worked');
    v.backend.onRelease = () => 'absent';
    await v.clock.advance(10_000);
    expect(v.log.lines).toEqual([]);
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
    const { queues, strictQueues } = v.client as unknown as Record<string, { size: number }>;
    expect([queues!.size, strictQueues!.size]).toEqual([1, 0]);
  });

  it('leave nothing behind when they are done, however they ended (G9)', async () => {
    const v = new VirtualClient();
    for (const fairness of ['handoff', 'strict'] as const) {
      await (await v.acquire('a', { fairness })).release();
      v.backend.onAcquire = () => ({ status: 'contended', rest: 1 });
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
    const { queues, strictQueues, held } = v.client as unknown as {
      queues: { size: number };
      strictQueues: { size: number };
      held: number;
    };
    expect([queues.size, strictQueues.size, held]).toEqual([0, 0, 0]);
    expect(v.clock.pending).toBe(0);
  });

  it('pass the lock on with no word on the way, larger tokens, and the lease brought back beside (local hand-off)', async () => {
    const v = new VirtualClient();
    const locks = [v.acquire('a'), v.acquire('a'), v.acquire('a'), v.acquire('a')];
    const first = await locks[0]!;
    await first.release();
    // The first claim had no tokens in hand: nobody waited when it was asked for.
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
    expect(third.remaining).toBeLessThan(29_000);
    answer.resolve([v.backend.renewal(30_000)]);
    await settled();
    expect(third.remaining).toBe(30_000 - 30 - 2);
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

  it('never pass it on without a token in hand', async () => {
    const v = new VirtualClient();
    v.backend.tokensInHand = 1;
    const locks = Array.from({ length: 4 }, () => v.acquire('a'));
    await (await locks[0]!).release();
    const asked = v.backend.acquired.length;
    v.backend.onRenew = () => ['unanswered'];
    const second = await locks[1]!;
    await second.release();
    // One token: one hand-off. No answer brought further ones.
    const third = await locks[2]!;
    expect(third.fencingToken).toBe(second.fencingToken + 1);
    expect(v.backend.acquired).toHaveLength(asked);
    await third.release();
    expect((await locks[3]!).fencingToken).toBeGreaterThan(third.fencingToken + 1);
    expect(v.backend.acquired).toHaveLength(asked + 1);
  });

  it('pass it on at most `maxLocalHandoffs` times, and for at most 50 ms, while others wait', async () => {
    for (const [pause, most] of [
      [0, 3],
      [30, 1],
    ] as const) {
      const v = new VirtualClient({ maxLocalHandoffs: 3 });
      v.backend.othersWait = true;
      const locks = Array.from({ length: 10 }, () => v.acquire('a'));
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
  it('leaves no timer, whatever was going on', async () => {
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
    await v.clock.advance(1_000);
    await closed;
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await overdue.release();
    await v.clock.advance(1);
    expect(v.backend.closed).toBe(true);
    expect(v.clock.pending).toBe(0);
  });

  it('rejects whoever began to wait after it, at its end', async () => {
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

  it('is over at once when nothing is held', async () => {
    const v = new VirtualClient();
    await v.client.shutdown(60_000);
    expect(v.backend.closed).toBe(true);
  });
});
