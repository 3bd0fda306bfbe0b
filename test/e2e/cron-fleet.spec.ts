import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { forkWorker, type Worker } from '../support/worker.js';

interface Start {
  readonly period: number;
  readonly ran: boolean;
  readonly late: number;
}

/** How far the clocks are apart, in ms. The lock is kept for 600 of the 1000 ms of a period. */
const clocks = [0, 70, 140, 210];
/** Periods to look at, of so many at most: on a busy machine many are disturbed. */
const [enough, most] = [4, 40];
/** Up to here a start is on time; beyond, the machine stood still, and nothing is known of that period or of the next. */
const onTime = 150;

const isStart = (message: unknown): message is Start =>
  typeof message === 'object' && message !== null && 'ran' in message;

describe('a fleet of four processes with a job every second', () => {
  it('runs the job once a second, although each process starts it, by clocks that differ', async () => {
    const env = { KEY_PREFIX: `test:${randomUUID()}:` };
    const fleet = clocks.map((ahead) => forkWorker('cron', { env: { ...env, CLOCK: String(ahead) } }));
    try {
      const all = await Promise.all(fleet.map((worker) => worker.message(isStart)));
      // All processes take part after the first period of the slowest one.
      const first = 1 + Math.max(...all.map(({ period }) => period));
      const latest = new Map(fleet.map((worker) => [worker, 0]));
      const readTo = async (worker: Worker, period: number): Promise<void> => {
        while (latest.get(worker)! < period) {
          const start = await worker.message(isStart);
          all.push(start);
          latest.set(worker, start.period);
        }
      };

      const disturbed = (period: number): boolean => {
        const known = all.filter((start) => start.period === period);
        return known.length !== fleet.length || known.some(({ late }) => late > onTime);
      };
      const runs: number[] = [];
      for (let period = first + 1; period <= first + most && runs.length < enough; period++) {
        await Promise.all(fleet.map((worker) => readTo(worker, period)));
        if (disturbed(period - 1) || disturbed(period)) continue;
        runs.push(all.filter((start) => start.period === period && start.ran).length);
      }
      expect(runs).toEqual(Array.from({ length: enough }, () => 1));
    } finally {
      await Promise.all(fleet.map((worker) => worker[Symbol.asyncDispose]()));
    }
  }, 60_000);
});
