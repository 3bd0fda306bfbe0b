import { describe, expect, it } from '@jest/globals';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { type AcquireReply, exclusive, type LockBackendEvents } from '../../../lib/core/lock-backend.js';
import { LockTestBed } from '../../../lib/testing/lock-test-bed.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';

const deafEars: LockBackendEvents = { granted() {}, recovered() {} };

/** A client in virtual time, started. */
const started = async (server: MemoryLockServer, id: string, events = deafEars): Promise<MemoryLockBackend> => {
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
    ...{ name: 'a', claim, lease, reserve, enqueue },
    ...{ again: false, giveUpAt: Number.POSITIVE_INFINITY, isWanted: () => true },
  });

describe('a memory backend', () => {
  it('never calls or answers inside the call that caused it', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const order: string[] = [];
    const a = await started(server, 'a');
    const b = await started(server, 'b', { ...deafEars, granted: () => order.push('granted') });
    await ask(a, 'a:0');
    await ask(b, 'b:0');
    void a.release({ name: 'a', claim: 'a:0' }).then(() => order.push('released'));
    // Not in the turn of the call, and not in its promise jobs.
    for (let job = 0; job < 50; job++) await Promise.resolve();
    order.push('later');
    await clock.advance(0);
    expect(order).toEqual(['later', 'released', 'granted']);
  });

  it('gives tokens as large as those of Redis, larger ones though time stands still, and none that were reserved', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const a = await started(server, 'a');
    const tokens: number[] = [];
    for (const reserve of [0, 256, 0, 1, 0]) {
      const reply = await ask(a, 'a:0', { reserve });
      if (reply.status !== 'granted') throw new Error(reply.status);
      tokens.push(reply.fencingToken, reply.tokensUntil);
      await a.release({ name: 'a', claim: 'a:0' });
    }
    expect(tokens).toEqual(tokens.toSorted((x, y) => x - y));
    expect(new Set(tokens).size).toBe(7);
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
    expect(bed.inspect('a')).toEqual({ holder: undefined, holders: [], waiters: [] });
    expect(bed.server.table.size).toBe(0);
  });

  it('shows who holds a lock and who waits for it, by name and in order', async () => {
    const bed = new LockTestBed();
    const [shop, office, audit] = ['shop', 'office', 'audit'].map((name) => bed.otherProcess(name));
    const lock = await shop!.acquire('a', { lease: '5s' });
    const waiting = [office!.acquire('a'), audit!.acquire('a')];
    await bed.advance('1s');
    const holder = { client: 'shop', fencingToken: lock.fencingToken, leaseLeft: 4_000, confirmed: true };
    expect(bed.inspect('a')).toEqual({
      holder: { ...holder, kind: 'exclusive', permits: 1 },
      holders: [{ ...holder, kind: 'exclusive', permits: 1 }],
      waiters: [
        { client: 'office', standing: 'heard' },
        { client: 'audit', standing: 'heard' },
      ],
    });
    await lock.release();
    const next = await waiting[0]!;
    expect(bed.inspect('a')).toMatchObject({
      holder: { client: 'office', fencingToken: next.fencingToken, confirmed: false },
      waiters: [{ client: 'audit' }],
    });
    await bed.advance('1s');
    expect(bed.inspect('a')).toMatchObject({ holder: { confirmed: true } });
    await next.release();
    await (await waiting[1]!).release();
  });

  it('serves one client at a time, and the next one when that has closed', async () => {
    const server = new MemoryLockServer({ clock: new VirtualClock() });
    const backend = await started(server, 'a');
    await ask(backend, 'a:0');
    await expect(backend.start('b', deafEars)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    // The refused one goes; that is not the end of the other.
    await backend.close();
    expect(await ask(backend, 'a:0')).toMatchObject({ status: 'granted' });
    await backend.close();
    await expect(ask(backend, 'a:0')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: false });
    await backend.start('b', deafEars);
    expect(await ask(backend, 'b:0', { enqueue: false })).toMatchObject({ status: 'contended' });
  });

  it('leaves no timer behind when its last client has closed, whatever was under way', async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    const [a, b] = [await started(server, 'a'), await started(server, 'b')];
    await ask(a, 'a:0');
    await ask(b, 'b:0');
    server.faults.delayHandOffs('10s');
    await a.release({ name: 'a', claim: 'a:0' });
    server.faults.delayCommands('10s', 2);
    const slow = [ask(a, 'a:1'), a.release({ name: 'a', claim: 'a:1' })];
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
    expect(() => new MemoryLockBackend(options as { poll?: number })).toThrow(/no duration/);
  });
});
