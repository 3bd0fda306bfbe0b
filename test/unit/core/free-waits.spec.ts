import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { HolderSnapshot } from '../../../lib/core/lock-backend.js';
import { VirtualClient, watch } from './virtual-client.js';

const elsewhere = 'abcdefghij.web-1.4711:1.x:Shop.buy';

/** A client that waits until 'a' is free, on a backend with these holders. */
class Waiter extends VirtualClient {
  holders: HolderSnapshot[] = [];
  /** Looks at the lock. */
  looks = 0;
  look = async (): Promise<void> => undefined;

  constructor() {
    super();
    Object.assign(this.backend, {
      inspect: async () => {
        this.looks++;
        const { holders } = this;
        await this.look();
        return { kind: 'exclusive', limit: undefined, holders, waiters: [] };
      },
    });
  }

  hold(leaseLeft = 30_000): void {
    this.holders = [{ id: elsewhere, fencingToken: 7, heldFor: 20, leaseLeft, state: 'held', permits: 1 }];
  }

  free(): void {
    this.holders = [];
  }

  wait({ wait = 10_000, signal }: { wait?: number; signal?: AbortSignal } = {}): Promise<void> {
    return this.operators.freeWaits.wait('a', { ...this.client.defaults, wait, signal });
  }
}

describe('a wait until a lock is free', () => {
  it('ends at once when no caller holds it, after one look', async () => {
    const v = new Waiter();
    await v.wait();
    expect(v.looks).toBe(1);
  });

  it('ends with the first look after the holder has gone, and takes no lock', async () => {
    const v = new Waiter();
    v.hold();
    const waiting = watch(v.wait());
    await v.clock.advance(5_000);
    expect(waiting.state).toBe('pending');
    v.free();
    await v.clock.advance(1_000);
    expect(waiting.state).toBe('resolved');
    expect(v.backend.log).toEqual([]);
  });

  it('looks after 50 ms, then half as often each time, down to once a second', async () => {
    const v = new Waiter();
    v.hold();
    void v.wait({ wait: Number.POSITIVE_INFINITY });
    const begin = v.clock.now();
    const times: number[] = [0];
    v.look = async () => void times.push(v.clock.now() - begin);
    await v.clock.advance(4_000);
    expect(times).toEqual([0, 50, 150, 350, 750, 1_550, 2_550, 3_550]);
  });

  it('looks as soon as the lease of a crashed holder has ended', async () => {
    const v = new Waiter();
    v.hold();
    const waiting = watch(v.wait());
    await v.clock.advance(4_000);
    v.hold(200);
    await v.clock.advance(1_000);
    const { looks } = v;
    v.free();
    await v.clock.advance(201);
    expect(v.looks).toBe(looks + 1);
    expect(waiting.state).toBe('resolved');
  });

  it('asks once for all callers of a name', async () => {
    const v = new Waiter();
    v.hold();
    const callers = [v.wait(), v.wait(), v.wait()].map(watch);
    await v.clock.advance(0);
    // The callers that came while the first look was under way have the second one.
    expect(v.looks).toBe(2);
    v.free();
    await v.clock.advance(50);
    expect(callers.map(({ state }) => state)).toEqual(['resolved', 'resolved', 'resolved']);
    expect(v.looks).toBe(3);
  });

  it('looks often again for a new caller', async () => {
    const v = new Waiter();
    v.hold();
    void v.wait({ wait: Number.POSITIVE_INFINITY });
    await v.clock.advance(4_000);
    void v.wait({ wait: Number.POSITIVE_INFINITY });
    const { looks } = v;
    await v.clock.advance(150);
    expect(v.looks).toBe(looks + 2);
  });

  it('goes on for callers that come while another one leaves during a look', async () => {
    const v = new Waiter();
    v.hold();
    let answer: () => void;
    v.look = () => new Promise((resolve) => (answer = resolve));
    const abort = new AbortController();
    const first = watch(v.wait({ signal: abort.signal }));
    await v.clock.advance(0);
    abort.abort('left');
    const others = [v.wait(), v.wait()].map(watch);
    v.look = async () => undefined;
    answer!();
    await v.clock.advance(0);
    expect(first.reason).toBe('left');
    expect(v.looks).toBe(2);
    v.free();
    await v.clock.advance(50);
    expect(v.looks).toBe(3);
    expect(others.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
  });

  it('keeps no context of its caller', async () => {
    const v = new Waiter();
    const request = new AsyncLocalStorage<string>();
    const seen: Array<string | undefined> = [];
    v.hold();
    v.look = async () => void seen.push(request.getStore());
    void request.run('request', () => v.wait());
    await v.clock.advance(60);
    expect(seen).toEqual([undefined, undefined]);
  });

  it('does not end by an answer that is older than the call', async () => {
    const v = new Waiter();
    let answer: (value: void) => void;
    const held = new Promise<void>((resolve) => (answer = resolve));
    v.look = () => held;
    const first = watch(v.wait());
    await v.clock.advance(0);
    v.hold();
    const second = watch(v.wait());
    v.look = async () => undefined;
    answer!();
    await v.clock.advance(0);
    expect([first.state, second.state]).toEqual(['resolved', 'pending']);
  });

  it('rejects after `wait` and names the holder', async () => {
    const v = new Waiter();
    v.hold();
    const waiting = watch(v.wait({ wait: 2_000 }));
    await v.clock.advance(2_000);
    expect(waiting.reason).toMatchObject({
      code: 'LOCK_WAIT_TIMEOUT',
      holder: { host: 'web-1', pid: 4711, method: 'Shop.buy', fencingToken: 7 },
      leaseLeft: 30_000,
    });
  });

  it('rejects as unavailable when no look was answered within `wait`, also where an earlier caller had an answer', async () => {
    const v = new Waiter();
    v.hold();
    void v.wait({ wait: 100_000 });
    await v.clock.advance(0);
    v.look = () => new Promise(() => undefined);
    const waiting = watch(v.wait({ wait: 500 }));
    await v.clock.advance(500);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('rejects with LOCK_WAIT_TIMEOUT while the first look is on its way, unless the connection is lost', async () => {
    const v = new Waiter();
    v.look = () => new Promise(() => undefined);
    const waiting = watch(v.wait({ wait: 5 }));
    await v.clock.advance(5);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT', holder: undefined });
    Object.assign(v.backend, { availability: () => [['a server', false]] });
    const cutOff = watch(v.wait({ wait: 5 }));
    await v.clock.advance(5);
    expect(cutOff.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('with `wait: 0` rejects after one look', async () => {
    const v = new Waiter();
    v.hold();
    await expect(v.wait({ wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', leaseLeft: 30_000 });
    expect(v.looks).toBe(1);
  });

  it('rejects with the error of a look that fails', async () => {
    const v = new Waiter();
    v.look = () => Promise.reject(new Error('away'));
    await expect(v.wait()).rejects.toThrow('away');
  });

  it('rejects with the reason of its signal, before and during the wait, and asks no more', async () => {
    const v = new Waiter();
    v.hold();
    await expect(v.wait({ signal: AbortSignal.abort('early') })).rejects.toBe('early');
    expect(v.looks).toBe(0);
    const abort = new AbortController();
    const waiting = watch(v.wait({ signal: abort.signal }));
    await v.clock.advance(50);
    const { looks } = v;
    abort.abort('late');
    await v.clock.advance(10_000);
    expect(waiting.reason).toBe('late');
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    expect(v.looks).toBe(looks);
    expect(v.clock.pending).toBe(0);
  });

  it('is refused inside the lock: it would wait for itself', async () => {
    const v = new Waiter();
    const scope = await v.enter('a');
    await expect(scope.run(() => v.wait())).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    await scope.leave('worked');
  });

  it('rejects when the application closes', async () => {
    const v = new Waiter();
    v.hold();
    const waiting = watch(v.wait());
    await v.clock.advance(0);
    await v.client.shutdown(0);
    expect(waiting.reason).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(v.wait()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(v.clock.pending).toBe(0);
  });
});
