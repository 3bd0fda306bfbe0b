import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { type AcquireReply, exclusive, type LockBackendEvents } from '../../../lib/core/lock-backend.js';
import { LockTestBed } from '../../../lib/testing/lock-test-bed.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';

const noListeners: LockBackendEvents = { granted() {}, recovered() {} };

/** A client in virtual time, started. */
const started = async (server: MemoryLockServer, id: string, events = noListeners): Promise<MemoryLockBackend> => {
  const backend = new MemoryLockBackend({ server });
  await backend.start(id, events);
  return backend;
};
const ask = (
  backend: MemoryLockBackend,
  claim: string,
  { enqueue = true, lease = 30_000, reserve = 0 } = {},
): Promise<AcquireReply> =>
  backend.acquire({
    ...exclusive,
    ...{ name: 'a', id: claim, lease, reserve, enqueue },
    ...{ again: false, giveUpAt: Number.POSITIVE_INFINITY, isWanted: () => true },
  });

describe('a memory backend', () => {
  it('never sends a message or reply inside the call that caused it', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const order: string[] = [];
    const a = await started(server, 'a');
    const b = await started(server, 'b', { ...noListeners, granted: () => order.push('granted') });
    await ask(a, 'a:0');
    await ask(b, 'b:0');
    void a.release({ name: 'a', id: 'a:0' }).then(() => order.push('released'));
    // Not in the turn of the call, and not in its promise jobs.
    for (let job = 0; job < 50; job++) await Promise.resolve();
    order.push('later');
    await clock.advance(0);
    expect(order).toEqual(['later', 'released', 'granted']);
  });

  it('reports its server as available from its start to its end, except in an outage', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const backend = new MemoryLockBackend({ server });
    expect(backend.availability()).toEqual([['memory', false]]);
    await backend.start('a', noListeners);
    expect(backend.availability()).toEqual([['memory', true]]);
    server.faults.unavailable('5s');
    expect(backend.availability()).toEqual([['memory', false]]);
    await clock.advance('5s');
    expect(backend.availability()).toEqual([['memory', true]]);
    await backend.close();
    expect(backend.availability()).toEqual([['memory', false]]);
  });

  it('issues tokens as large as those of Redis, increasing even if time stands still, and reserves none ahead of the clock', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const a = await started(server, 'a');
    const tokens: number[] = [];
    for (const [reserve, pause, reserved] of [
      [256, 0, 0],
      [256, 0, 0],
      [256, 1, 256],
      [256, 0, 0],
      [5_000, 1, 998],
    ] as const) {
      await clock.advance(pause);
      const reply = await ask(a, 'a:0', { reserve });
      if (reply.status !== 'granted') throw new Error(reply.status);
      const { fencingToken, tokensUntil } = reply;
      tokens.push(fencingToken, tokensUntil);
      const now = Math.floor((performance.timeOrigin + clock.now()) * 1000);
      // Time stands still: one token more. Reserved tokens are behind the clock.
      expect(tokensUntil).toBeLessThanOrEqual(Math.max(now, fencingToken));
      expect(Math.abs(tokensUntil - fencingToken - reserved)).toBeLessThanOrEqual(1);
      await a.release({ name: 'a', id: 'a:0' });
    }
    for (const [index, token] of tokens.entries()) expect(token).toBeGreaterThanOrEqual(tokens[index - 1] ?? 0);
    for (const [index, token] of tokens.entries())
      if (index % 2 === 0) expect(token).toBeGreaterThan(tokens[index - 1] ?? 0);
    // Microseconds since 1970: more than 32 bits, fewer than a JavaScript number holds.
    expect(tokens[0]).toBeGreaterThan(1e15);
    expect(Number.isSafeInteger(tokens.at(-1))).toBe(true);
  });

  it('forgets a name that is neither held nor waited for', async () => {
    const bed = new LockTestBed();
    const [one, other] = [bed.otherProcess(), bed.otherProcess()];
    const lock = await one.acquire('a');
    const waiting = other.acquire('a');
    await bed.advance(0);
    await lock.release();
    await (await waiting).release();
    expect(bed.inspect('a')).toEqual({ key: 'a', kind: undefined, limit: undefined, holders: [], waiters: [] });
    expect(bed.server.table.size).toBe(0);
  });

  it('shows who holds a lock and who waits for it, by name and in order', async () => {
    const bed = new LockTestBed();
    const [shop, office, audit] = ['shop', 'office', 'audit'].map((name) => bed.otherProcess(name));
    const lock = await shop!.acquire('a', { lease: '5s' });
    const waiting = [office!.acquire('a'), audit!.acquire('a')];
    await bed.advance('1s');
    const here = { host: hostname(), pid: process.pid, method: undefined };
    const waits = { ...here, waited: 1_000, kind: 'exclusive', permits: 1, reachable: true };
    expect(bed.inspect('a')).toEqual({
      key: 'a',
      kind: 'exclusive',
      limit: undefined,
      holders: [
        {
          ...here,
          client: 'shop',
          fencingToken: lock.fencingToken,
          heldFor: 1_000,
          leaseLeft: 4_000,
          state: 'held',
          permits: 1,
        },
      ],
      waiters: [
        { ...waits, client: 'office' },
        { ...waits, client: 'audit' },
      ],
    });
    await lock.release();
    const next = await waiting[0]!;
    expect(bed.inspect('a')).toMatchObject({
      holders: [{ client: 'office', fencingToken: next.fencingToken, state: 'provisional' }],
      waiters: [{ client: 'audit' }],
    });
    await bed.advance('1s');
    expect(bed.inspect('a')).toMatchObject({ holders: [{ state: 'held' }] });
    await next.release();
    await (await waiting[1]!).release();
  });

  it('serves one client at a time, and the next one after that has closed', async () => {
    const server = new MemoryLockServer({ clock: new VirtualClock() });
    const backend = await started(server, 'a');
    await ask(backend, 'a:0');
    await expect(backend.start('b', noListeners)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    // The refused one closes; the other one is not affected.
    await backend.close();
    expect(await ask(backend, 'a:0')).toMatchObject({ status: 'granted' });
    await backend.close();
    await expect(ask(backend, 'a:0')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    await backend.start('b', noListeners);
    expect(await ask(backend, 'b:0', { enqueue: false })).toMatchObject({ status: 'contended' });
  });

  it('leaves no timer behind when its last client has closed, in any state', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const [a, b] = [await started(server, 'a'), await started(server, 'b')];
    await ask(a, 'a:0');
    await ask(b, 'b:0');
    server.faults.delayHandOffs('10s');
    await a.release({ name: 'a', id: 'a:0' });
    server.faults.delayCommands('10s', 2);
    const slow = [ask(a, 'a:1'), a.release({ name: 'a', id: 'a:1' })];
    const settled = Promise.allSettled(slow);
    await clock.advance(0);
    server.faults.unavailable('10s');
    expect(clock.pending).toBeGreaterThan(0);
    await a.close();
    await b.close();
    expect(clock.pending).toBe(0);
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it.each([{ commandTimeout: 9 }, { poll: 99 }, { poll: 'soon' }])('refuses %p', (options) => {
    expect(() => new MemoryLockBackend(options as { poll?: number })).toThrow(/not a duration/);
  });
});
