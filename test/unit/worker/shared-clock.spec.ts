import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '../../../lib/core/clock.js';
import { SharedClock } from '../../../lib/worker/shared-clock.js';

/** A thread's own clock, and the one of all threads; both go on by these steps (ms) at each reading. */
function clocks(offset: number, steps: readonly number[]) {
  let time = 0;
  let reading = 0;
  const pass = (): void => void (time += steps[reading++ % steps.length]!);
  return {
    own: { now: () => (pass(), time) },
    common: () => (pass(), time + offset),
    get time() {
      return time;
    },
  };
}

describe('the clock that threads share', () => {
  it('is the same moment in all threads', async () => {
    const clock = new SharedClock(systemClock);
    const thread = new Worker(
      `const { parentPort } = require('node:worker_threads');
       parentPort.on('message', () => parentPort.postMessage(Number(process.hrtime.bigint()) / 1000));`,
      { eval: true },
    );
    try {
      for (let count = 0; count < 20; count++) {
        const before = clock.now();
        thread.postMessage('now');
        const [between] = (await once(thread, 'message')) as [number];
        expect(between).toBeGreaterThanOrEqual(before);
        expect(clock.now() + 1).toBeGreaterThanOrEqual(between);
      }
    } finally {
      await thread.terminate();
    }
  });

  it('makes a time earlier on its way to another thread, never later, however long a thread stood still between two readings', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 20 });
    const offset = fc.integer({ min: -1e9, max: 1e9 });
    fc.assert(
      fc.property(steps, steps, offset, offset, (mine, others, mineOff, othersOff) => {
        const here = clocks(mineOff, mine);
        const there = clocks(othersOff, others);
        const sender = new SharedClock(here.own, here.common);
        const receiver = new SharedClock(there.own, there.common);
        // 5 s on the sender's own clock is the time mineOff + 5 s of all, and mineOff - othersOff + 5 s on the receiver's own clock.
        const exact = 5_000 + mineOff - othersOff;
        const arrived = receiver.toLocal(sender.toShared(5_000));
        expect(arrived).toBeLessThanOrEqual(exact);
        const pauses = Math.max(...mine) * 2 + Math.max(...others) * 2;
        expect(arrived).toBeGreaterThanOrEqual(exact - pauses - 0.001);
      }),
    );
  });

  it('keeps an end that never comes', () => {
    const clock = new SharedClock(systemClock);
    expect(clock.toLocal(clock.toShared(Number.POSITIVE_INFINITY))).toBeGreaterThan(1e12);
  });
});
