import { readFile } from 'node:fs/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { nextTurn } from '../../../lib/backends/memory/turns.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';

describe('a virtual clock', () => {
  it('does not move by itself, and runs timers at their time and in order', async () => {
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

  it('lets work started by a timer settle before time goes on, including replies of the memory backend', async () => {
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

  it('runs no stopped timer', async () => {
    const clock = new VirtualClock();
    let runs = 0;
    clock.timer(10, () => runs++)();
    await clock.advance(1000);
    expect([runs, clock.pending]).toEqual([0, 0]);
  });

  it('stalls: time passes and no timer runs; due timers run afterwards', async () => {
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

  it('`until` reports a hanging promise', async () => {
    const clock = new VirtualClock();
    const tick = (): void => void clock.timer(1000, tick);
    tick();
    await expect(clock.until(new Promise(() => undefined), { atMost: '1m' })).rejects.toThrow(
      /60000 ms of virtual time/,
    );
  });

  it('`until` reports a hanging promise that does not depend on virtual time, and never waits forever', async () => {
    const clock = new VirtualClock();
    await expect(clock.until(new Promise(() => undefined))).rejects.toThrow(
      /nothing waits for virtual time.*a promise that nothing settles/,
    );
  });

  it('`until` waits in real time for work outside, then continues in virtual time, also for several at once', async () => {
    const clock = new VirtualClock();
    const begun = clock.now();
    const work = async (milliseconds: number) => {
      await readFile(import.meta.filename);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await clock.sleep(milliseconds);
      await readFile(import.meta.filename);
      return milliseconds;
    };
    await expect(Promise.all([clock.until(work(3000)), clock.until(work(7000))])).resolves.toEqual([3000, 7000]);
    expect(clock.now() - begun).toBeGreaterThanOrEqual(7000);
  });

  it('warns once when a sleep is awaited and no virtual time passes', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      const [clock, other] = [new VirtualClock(), new VirtualClock()];
      void clock.sleep('5m');
      void clock.sleep('6m');
      const passed = other.sleep('5m');
      await other.advance('1m');
      // As long as the clock waits, and set after it.
      await new Promise((resolve) => setTimeout(resolve, 2000));
      expect(warned.mock.calls).toEqual([
        [expect.stringMatching(/a sleep.*virtual time stands still.*bed\.until/), { code: 'LOCK_TIME_STANDS_STILL' }],
      ]);
      await other.until(passed);
    } finally {
      warned.mockRestore();
    }
  });

  it('reports timers that run on while no time passes', async () => {
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
