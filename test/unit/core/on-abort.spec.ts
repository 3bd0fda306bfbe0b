import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { withFirstOf } from '../../../lib/core/on-abort.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient, watch } from './virtual-client.js';

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a signal that many callers wait with', () => {
  it('has one listener for all of them, and rejects each of them without a look at the others', async () => {
    const v = new VirtualClient({ maxWaiters: 1_000 });
    v.letWait();
    const abort = new AbortController();
    const added = jest.spyOn(abort.signal, 'addEventListener');
    const removed = jest.spyOn(abort.signal, 'removeEventListener');
    const callers = Array.from({ length: 1_000 }, () => watch(v.acquire('a', { signal: abort.signal })));
    await settled();
    const reason = new Error('the user has left');
    abort.abort(reason);
    await settled();
    expect(new Set(callers.map((caller) => caller.reason))).toEqual(new Set([reason]));
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).not.toHaveBeenCalled();
    expect(v.clock.pending).toBe(0);
  });

  it('keeps the callers that stay when others leave', async () => {
    const v = new VirtualClient();
    v.letWait();
    const abort = new AbortController();
    const leaving = watch(v.acquire('a', { signal: abort.signal, wait: '1s' }));
    const staying = watch(v.acquire('b', { signal: abort.signal, wait: '1m' }));
    await v.clock.advance(1_000);
    expect([leaving.state, staying.state]).toEqual(['rejected', 'pending']);
    abort.abort();
    await settled();
    expect(staying.reason).toBe(abort.signal.reason);
  });

  it('has one listener for a call of eleven names', async () => {
    const v = new VirtualClient();
    v.backend.onAcquire = ({ enqueue, lease }) =>
      enqueue ? { status: 'queued', askAt: 5_000 } : v.backend.grant(lease);
    const { signal } = new AbortController();
    const names = Array.from({ length: 11 }, (_, index) => `seat:${index}`);
    const taking = v.acquireAll(names, { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await (await taking).release();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('may have aborted before a call that ends with the first of several', async () => {
    const [over, live] = [AbortSignal.abort(new Error('the user has left')), new AbortController().signal];
    const seen = await withFirstOf([live, over], async (signal) => [signal.aborted, signal.reason]);
    expect(seen).toEqual([true, over.reason]);
    expect([live, over].flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
  });

  it('keeps nothing of a call for several names that had to wait', async () => {
    const v = new VirtualClient();
    const others = new Set(['b']);
    v.backend.onAcquire = ({ name, enqueue, lease }) => {
      if (!others.has(name)) return v.backend.grant(lease);
      return enqueue ? { status: 'queued', askAt: v.clock.now() + 1_000 } : { status: 'contended', leaseLeft: 1_000 };
    };
    const any = jest.spyOn(AbortSignal, 'any');
    const { signal } = new AbortController();
    const taking = v.acquireAll(['a', 'b'], { signal });
    await settled();
    others.clear();
    await v.clock.advance(1_000);
    await (await taking).release();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // On some versions of Node it leaves a reference at a signal that lives on.
    expect(any).not.toHaveBeenCalled();
  });
});
