import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { currentLock, startFlow } from '../../../lib/core/lock-flow.js';
import type { LockOptions } from '../../../lib/core/options.js';
import { deferred } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient, watch } from './virtual-client.js';

/** The work of `using` and of the decorator. */
async function inside<T>(
  v: VirtualClient,
  name: string,
  work: () => Promise<T> | T,
  options?: LockOptions,
): Promise<T> {
  const scope = await v.enter(name, options);
  try {
    const result = await scope.run(work);
    await scope.leave('worked');
    return result;
  } catch (error) {
    await scope.leave('failed');
    throw error;
  }
}

describe('re-entry in one flow', () => {
  it('sends nothing, counts its depth, and frees the lock with the outermost scope', async () => {
    const v = new VirtualClient();
    const depths: Array<number | undefined> = [];
    await inside(v, 'a', async () => {
      depths.push(currentLock()?.depth);
      await inside(v, 'a', async () => {
        depths.push(currentLock()?.depth);
        await inside(v, 'a', () => void depths.push(currentLock()?.depth));
      });
      depths.push(currentLock()?.depth);
      expect(v.backend.log).toEqual(['acquire a']);
    });
    expect(depths).toEqual([1, 2, 3, 1]);
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
    expect(currentLock()).toBeUndefined();
  });

  it('finds each of several locks, the innermost first', async () => {
    const v = new VirtualClient();
    await inside(v, 'a', () =>
      inside(v, 'b', async () => {
        expect(v.client.current()?.key).toBe('b');
        expect(v.client.current('a')?.key).toBe('a');
        expect(v.client.current('c')).toBeUndefined();
        await inside(v, 'a', () => expect(v.client.current()).toMatchObject({ key: 'a', depth: 2 }));
      }),
    );
    expect(v.backend.log).toEqual(['acquire a', 'acquire b', 'release b', 'release a']);
  });

  it('works through awaits, timers, microtasks and events that were started inside', async () => {
    const v = new VirtualClient();
    await inside(v, 'a', async () => {
      const depth = (): number | undefined => v.client.current('a')?.depth;
      expect(await new Promise((resolve) => setTimeout(() => resolve(depth()), 0))).toBe(1);
      expect(await new Promise((resolve) => setImmediate(() => resolve(depth())))).toBe(1);
      expect(await Promise.resolve().then(depth)).toBe(1);
      expect(await new Promise((resolve) => queueMicrotask(() => resolve(depth())))).toBe(1);
    });
  });

  it('of `acquire` opens no flow, but can re-enter one', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    expect(v.client.current()).toBeUndefined();
    await expect(v.acquire('a', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lock.release();
    await inside(v, 'a', async () => {
      const again = await v.acquire('a');
      expect(again.depth).toBe(2);
      await again.release();
      expect(v.client.current('a')?.isHeld).toBe(true);
    });
  });

  it('is never contended: neither wait 0 nor maxWaiters prevents it', async () => {
    const v = new VirtualClient({ maxWaiters: 1 });
    await inside(v, 'a', () => inside(v, 'a', () => undefined, { wait: 0, lease: 10, fairness: 'strict' }));
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
  });

  it('with a signal that was aborted before rejects with its reason', async () => {
    const v = new VirtualClient();
    const reason = new Error('gone');
    await inside(v, 'a', async () => {
      await expect(v.enter('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
  });

  it('belongs to its own client: the same name on another one is another lock', async () => {
    const [one, two] = [new VirtualClient(), new VirtualClient()];
    await inside(one, 'a', async () => {
      expect(two.client.current('a')).toBeUndefined();
      await inside(two, 'a', () => expect(currentLock()?.depth).toBe(1));
    });
    expect(two.backend.log).toEqual(['acquire a', 'release a']);
  });

  it('ends when its work throws, as when it returns', async () => {
    const v = new VirtualClient();
    const error = new Error('work failed');
    await expect(
      inside(v, 'a', () =>
        inside(v, 'a', () => {
          throw error;
        }),
      ),
    ).rejects.toBe(error);
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
  });
});

describe('parallel branches of a flow', () => {
  it('share the hold, and the lock is released when the last of them has left', async () => {
    const v = new VirtualClient();
    const slow = deferred<void>();
    const branches: Array<Promise<void>> = [];
    const scope = await v.enter('a');
    scope.run(() => {
      branches.push(inside(v, 'a', () => undefined));
      branches.push(inside(v, 'a', () => slow.promise));
    });
    await branches[0];
    await scope.leave('worked');
    expect(v.backend.released).toEqual([]);
    expect(scope.lock.isHeld).toBe(false);
    slow.resolve();
    await Promise.all(branches);
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
  });

  it('that outlive the outer scope are still inside: they re-enter, and are current', async () => {
    const v = new VirtualClient();
    const go = deferred<void>();
    const scope = await v.enter('a');
    const branch = scope.run(() =>
      inside(v, 'a', async () => {
        await go.promise;
        expect(v.client.current('a')).toMatchObject({ isHeld: true, depth: 2 });
        await inside(v, 'a', () => expect(currentLock()?.depth).toBe(3));
      }),
    );
    await settled();
    await scope.leave('worked');
    go.resolve();
    await branch;
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
  });

  it('that leave twice count once', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a');
    const inner = await scope.run(() => v.enter('a'));
    await inner.leave('worked');
    await inner.leave('worked');
    expect(scope.lock.isHeld).toBe(true);
    expect(v.backend.released).toEqual([]);
    await scope.leave('worked');
    expect(v.backend.released).toHaveLength(1);
  });
});

describe('a detached branch that locks after the hold has ended', () => {
  it('takes the lock again: a context never revives an ended hold', async () => {
    const v = new VirtualClient();
    const go = deferred<void>();
    let detached!: Promise<void>;
    let firstToken = 0;
    await inside(v, 'a', () => {
      firstToken = currentLock()!.fencingToken;
      detached = go.promise.then(() => {
        expect(currentLock()).toBeUndefined();
        return inside(v, 'a', () => {
          expect(currentLock()).toMatchObject({ depth: 1, isHeld: true });
          expect(currentLock()!.fencingToken).toBeGreaterThan(firstToken);
        });
      });
    });
    expect(v.backend.log).toEqual(['acquire a', 'release a']);
    go.resolve();
    await detached;
    expect(v.backend.log).toEqual(['acquire a', 'release a', 'acquire a', 'release a']);
  });

  it('waits like any caller while another flow holds it', async () => {
    const v = new VirtualClient();
    const go = deferred<void>();
    let detached!: Promise<unknown>;
    await inside(v, 'a', () => {
      detached = go.promise.then(() => v.enter('a', { wait: 0 }));
    });
    const other = await v.enter('a');
    go.resolve();
    await expect(detached).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await other.leave('worked');
  });

  it('waits also while the release is still under way', async () => {
    const v = new VirtualClient();
    const answer = deferred<'released'>();
    v.backend.onRelease = () => answer.promise;
    const scope = await v.enter('a');
    const leaving = scope.leave('worked');
    const fresh = scope.run(() => v.enter('a'));
    const lock = (await fresh).lock;
    expect(lock.depth).toBe(1);
    expect(v.backend.log).toEqual(['acquire a', 'release a', 'acquire a']);
    answer.resolve('released');
    await leaving;
  });
});

describe('two requests', () => {
  it('never share a hold, even if the server was started inside one', async () => {
    const v = new VirtualClient();
    const server = new EventEmitter();
    const served: Array<Promise<unknown>> = [];
    await inside(v, 'a', async () => {
      // Listeners run in the context of the emitter: here, inside the lock.
      server.on('request', () => served.push(startFlow(() => v.enter('a', { wait: 0 }))));
      server.emit('request');
      server.emit('request');
      expect(await Promise.allSettled(served)).toMatchObject([
        { status: 'rejected', reason: { code: 'LOCK_CONTENDED' } },
        { status: 'rejected', reason: { code: 'LOCK_CONTENDED' } },
      ]);
      expect(startFlow(currentLock)).toBeUndefined();
      expect(currentLock()?.key).toBe('a');
    });
  });

  it('wait for each other, side by side in one process', async () => {
    const v = new VirtualClient();
    const order: string[] = [];
    await Promise.all(
      ['one', 'two'].map((who) =>
        inside(v, 'a', async () => {
          order.push(`${who} in`);
          await settled();
          await inside(v, 'a', () => settled());
          order.push(`${who} out`);
        }),
      ),
    );
    expect(order).toEqual(['one in', 'one out', 'two in', 'two out']);
  });
});

describe('a hold that is lost inside a nested call', () => {
  it('rejects a re-entry, and rejects work that succeeded once', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a', { lease: 1_000 });
    const inner = await scope.run(() => v.enter('a'));
    await v.clock.advance(1_000);
    await inner.run(async () => {
      expect(currentLock()?.isHeld).toBe(false);
      await expect(v.enter('a')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      await expect(v.acquire('a', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_LOST' });
    });
    await expect(inner.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST' });
    await scope.leave('failed');
    // After the end nothing of it is left: the flow may take the lock again.
    const fresh = await scope.run(() => v.enter('a'));
    expect(fresh.lock).toMatchObject({ isHeld: true, depth: 1 });
  });

  it('rejects a re-entry also before a timer could detect the loss', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a', { lease: 1_000 });
    v.clock.stall(1_000);
    await scope.run(() => expect(v.enter('a')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' }));
  });

  it('rejects a re-entry at maxHold', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a', { maxHold: 100 });
    await v.clock.advance(100);
    await scope.run(() => expect(v.enter('a')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'max-hold' }));
  });

  it('aborts the signal that all its users share', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a', { lease: 1_000 });
    const inner = await scope.run(() => v.enter('a'));
    expect(inner.lock.signal).toBe(scope.lock.signal);
    await v.clock.advance(1_000);
    expect(inner.lock.signal.aborted).toBe(true);
  });

  it('lets another caller of the process have the lock, while its work still runs', async () => {
    const v = new VirtualClient();
    const scope = await v.enter('a', { lease: 1_000 });
    const next = watch(v.acquire('a', { wait: '1m' }));
    await v.clock.advance(1_000);
    expect(next.state).toBe('resolved');
    await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(v.backend.released).toHaveLength(1);
  });
});
