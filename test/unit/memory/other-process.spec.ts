import { describe, expect, it } from '@jest/globals';
import type { LockLostError } from '../../../lib/errors/lock-errors.js';
import type { Lock } from '../../../lib/core/lock.js';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { LockTestBed } from '../../../lib/testing/lock-test-bed.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';

const reasonOf = (lock: Lock): string | undefined =>
  lock.signal.aborted ? (lock.signal.reason as LockLostError).reason : undefined;
const clientsOf = (bed: LockTestBed): readonly string[] => bed.inspect('a').holders.map(({ client }) => client);

describe('another process of a bed', () => {
  it('loses its lock while it is stopped, the next one gets a larger token, and it knows before its first await', async () => {
    const bed = new LockTestBed();
    const [one, other] = [bed.otherProcess('one'), bed.otherProcess('other')];
    const lock = await bed.until(one.acquire('a'));
    const reasons: unknown[] = [];
    lock.signal.addEventListener('abort', () => reasons.push(reasonOf(lock)));
    // Renewed: more than one lease.
    await bed.advance('2m');
    expect(lock.isHeld).toBe(true);
    one.stop();
    const next = await bed.until(other.acquire('a', { wait: '1m' }));
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    // No code of it ran.
    expect(reasons).toEqual([]);
    one.continue();
    expect([lock.isHeld, lock.signal.aborted, reasonOf(lock)]).toEqual([false, true, 'expired']);
    await bed.until(lock.release());
    await bed.advance('1m');
    expect([next.isHeld, clientsOf(bed)]).toEqual([true, ['other']]);
  });

  it('keeps its lock over a stop that is shorter than its lease, and renews it when it continues', async () => {
    const bed = new LockTestBed();
    const one = bed.otherProcess();
    const lock = await bed.until(one.acquire('a'));
    one.stop();
    await bed.advance('25s');
    expect(bed.inspect('a').holders[0]!.leaseLeft).toBe(5_000);
    one.continue();
    await bed.advance(0);
    expect([lock.isHeld, bed.inspect('a').holders[0]!.leaseLeft]).toEqual([true, 30_000]);
    await bed.advance('1m');
    expect(lock.isHeld).toBe(true);
  });

  it('costs the others one claim window when it is stopped in the queue, and keeps its place behind them', async () => {
    const bed = new LockTestBed();
    const first = await bed.until(bed.otherProcess('first').acquire('a'));
    const [stopped, live] = [bed.otherProcess('stopped'), bed.otherProcess('live')];
    const order: string[] = [];
    const run = async (name: string, waiting: Promise<Lock>): Promise<void> => {
      const lock = await waiting;
      order.push(name);
      await lock.release();
    };
    const both = [run('stopped', stopped.acquire('a', { wait: '1m' }))];
    await bed.advance('1s');
    both.push(run('live', live.acquire('a', { wait: '1m' })));
    await bed.advance('1s');
    stopped.stop();
    await bed.until(first.release());
    await bed.advance(2_999);
    expect(order).toEqual([]);
    await bed.advance('1s');
    expect(order).toEqual(['live']);
    stopped.continue();
    await bed.until(Promise.all(both));
    expect(order).toEqual(['live', 'stopped']);
  });

  it('reads replies and messages that came while it was stopped when it continues', async () => {
    const bed = new LockTestBed();
    const one = bed.otherProcess('one');
    // Connected: the next request is sent at once.
    await (await bed.until(one.acquire('b'))).release();
    let settled = false;
    const asked = one.acquire('a').finally(() => (settled = true));
    // The request is on its way.
    one.stop();
    await bed.advance('10s');
    expect([settled, clientsOf(bed)]).toEqual([false, ['one']]);
    one.continue();
    const lock = await bed.until(asked);
    // Counted from when it was sent, 10 s ago.
    expect(lock.leaseLeft).toBe(30_000 - 10_000 - 30 - 2);
  });

  it('sends nothing while it is stopped', async () => {
    const bed = new LockTestBed();
    const one = bed.otherProcess('one');
    await bed.until(one.acquire('b'));
    one.stop();
    const asked = one.acquire('a');
    await bed.advance('1s');
    expect(clientsOf(bed)).toEqual([]);
    one.continue();
    await bed.until(asked);
    expect(clientsOf(bed)).toEqual(['one']);
  });

  it('runs what is late in the order in which it came, each with all that follows from it', async () => {
    const bed = new LockTestBed();
    const one = bed.otherProcess('one');
    const order: string[] = [];
    const work = async (name: string, ms: number): Promise<void> => {
      await one.sleep(ms);
      order.push(`${name} wakes`);
      await Promise.resolve();
      order.push(`${name} is done`);
    };
    const all = [work('second', 200), work('first', 100), work('third', 10_001)];
    one.stop();
    await bed.advance('10s');
    expect(order).toEqual([]);
    one.continue();
    // Before the late ones have run: it has to wait behind them.
    await bed.until(Promise.all(all));
    expect(order).toEqual(['first', 'second', 'third'].flatMap((name) => [`${name} wakes`, `${name} is done`]));
  });

  it('runs no timer that was cancelled while it was late, and lets no later one overtake those that are', async () => {
    const clock = new VirtualClock();
    const backend = new MemoryLockBackend({ server: new MemoryLockServer({ clock }) });
    const order: string[] = [];
    const [, cancel] = ['a', 'b', 'c'].map((name, at) => backend.clock.timer(at, () => order.push(name)));
    backend.stop();
    await clock.advance('1s');
    cancel!();
    backend.continue();
    backend.clock.timer(0, () => order.push('d'));
    await clock.advance(0);
    expect(order).toEqual(['a', 'c', 'd']);
  });

  it('takes a grant that came before its wait ended, though both are late', async () => {
    const bed = new LockTestBed();
    const one = bed.otherProcess('one');
    const holder = await bed.until(bed.otherProcess('holder').acquire('a'));
    const waiting = one.acquire('a', { wait: '5s' });
    await bed.advance('4s');
    one.stop();
    await bed.until(holder.release());
    // The grant has come, and then the wait has ended.
    await bed.advance('1200ms');
    one.continue();
    await expect(bed.until(waiting)).resolves.toMatchObject({ isHeld: true });
  });

  it('holds its locks to the end of their leases when it is killed, and none of its calls settles', async () => {
    const bed = new LockTestBed();
    const [dead, next] = [bed.otherProcess('dead'), bed.otherProcess('next')];
    const lock = await bed.until(dead.acquire('a'));
    const settled: string[] = [];
    const tell = (what: string) => () => void settled.push(what);
    dead.acquire('a', { fairness: 'strict' }).then(tell('granted'), tell('rejected'));
    dead.sleep('1s').then(tell('slept'), tell('slept'));
    lock.signal.addEventListener('abort', tell('aborted'));
    await bed.advance(0);
    dead.kill();
    dead.continue();
    const asked = next.acquire('a', { wait: '1m' });
    await bed.advance(29_999);
    expect(clientsOf(bed)).toEqual(['dead']);
    await bed.advance(1);
    await expect(bed.until(asked)).resolves.toMatchObject({ isHeld: true });
    await bed.advance('5m');
    expect([settled, clientsOf(bed)]).toEqual([[], ['next']]);
  });

  it('does not learn of an outage that it slept through, and goes on', async () => {
    const bed = new LockTestBed();
    const one = bed.otherProcess('one');
    const asked: Array<Promise<Lock>> = [];
    bed.faults.unavailable(500);
    asked.push(one.acquire('a'));
    one.stop();
    await bed.advance('10s');
    expect(clientsOf(bed)).toEqual([]);
    one.continue();
    await expect(bed.until(asked[0]!)).resolves.toMatchObject({ isHeld: true });
  });
});

describe("a server's clock that is set forward", () => {
  it('ends a lease early: the next one gets a larger token, and the holder learns it by its next renewal', async () => {
    const bed = new LockTestBed();
    const [one, other] = [bed.otherProcess('one'), bed.otherProcess('other')];
    const lock = await bed.until(one.acquire('a'));
    await bed.advance('5s');
    bed.faults.setClockForward('1m');
    const next = await bed.until(other.acquire('a'));
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    // What the clients believe does not depend on the server's clock.
    expect([lock.isHeld, next.isHeld, next.leaseLeft]).toEqual([true, true, 30_000 - 30 - 2]);
    await bed.advance('5s');
    expect([lock.isHeld, reasonOf(lock), next.isHeld]).toEqual([false, 'revoked', true]);
  });
});
