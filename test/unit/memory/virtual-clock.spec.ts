import { describe, expect, it } from '@jest/globals';
import { nextTurn } from '../../../lib/backends/memory/turns.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';

describe('a virtual clock', () => {
  it('stands still by itself, and runs what falls due at its time and in order', async () => {
    const clock = new VirtualClock();
    const ran: Array<[string, number]> = [];
    const start = clock.now();
    for (const [name, delay] of [
      ['later', 30_000],
      ['first', 10],
      ['second', 10],
      ['beyond', 60_001],
    ] as const) {
      clock.timer(delay, () => ran.push([name, clock.now() - start]));
    }
    await clock.advance(0);
    expect(ran).toEqual([]);
    await clock.advance('1m');
    expect(ran).toEqual([
      ['first', 10],
      ['second', 10],
      ['later', 30_000],
    ]);
    expect(clock.now() - start).toBe(60_000);
    expect(clock.pending).toBe(1);
  });

  it('lets settle what a timer started before time goes on, answers of the memory backend included', async () => {
    const clock = new VirtualClock();
    const seen: number[] = [];
    const start = clock.now();
    clock.timer(10, () => {
      void (async () => {
        for (let turn = 0; turn < 5; turn++) await nextTurn();
        seen.push(clock.now() - start);
        clock.timer(10, () => seen.push(clock.now() - start));
      })();
    });
    await clock.advance(1000);
    expect(seen).toEqual([10, 20]);
  });

  it('runs nothing that was stopped', async () => {
    const clock = new VirtualClock();
    let runs = 0;
    clock.timer(10, () => runs++)();
    await clock.advance(1000);
    expect([runs, clock.pending]).toEqual([0, 0]);
  });

  it('stalls: time is over and nothing could run; what was due runs afterwards', async () => {
    const clock = new VirtualClock();
    const start = clock.now();
    const seen: number[] = [];
    clock.timer(10, () => seen.push(clock.now() - start));
    clock.stall('1m');
    expect([clock.now() - start, seen]).toEqual([60_000, []]);
    await clock.advance(0);
    expect(seen).toEqual([60_000]);
  });

  it('`until` lets as much time pass as a promise needs, and no more', async () => {
    const clock = new VirtualClock();
    const start = clock.now();
    clock.timer(50_000, () => undefined);
    await expect(clock.until(clock.sleep('40s').then(() => 'done'))).resolves.toBe('done');
    expect(clock.now() - start).toBe(40_000);
    const failing = clock.sleep(1).then(() => Promise.reject(new Error('business')));
    await expect(clock.until(failing)).rejects.toThrow('business');
    await expect(clock.until(Promise.resolve(1))).resolves.toBe(1);
    expect(clock.pending).toBe(1);
  });

  it('`until` says so when a promise hangs', async () => {
    const clock = new VirtualClock();
    const tick = (): void => void clock.timer(1000, tick);
    tick();
    await expect(clock.until(new Promise(() => undefined), { atMost: '1m' })).rejects.toThrow(
      /60000 ms of virtual time/,
    );
  });

  it('says so when timers go on and no time passes', async () => {
    const clock = new VirtualClock();
    const again = (): void => void clock.timer(0, again);
    again();
    await expect(clock.advance(1)).rejects.toThrow(/no time passes/);
  });

  it.each([-1, Number.NaN, 'soon'])('refuses the duration %p', async (duration) => {
    const clock = new VirtualClock();
    await expect(clock.advance(duration as number)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(() => clock.stall(duration as number)).toThrow(/stall/);
    expect(() => clock.sleep(duration as number)).toThrow(/sleep/);
  });
});
