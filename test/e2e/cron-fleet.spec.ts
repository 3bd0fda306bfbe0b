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
const periods = 6;
/** Up to here a start is on time; beyond, the machine stood still, and nothing is known of that period or of the next. */
const onTime = 150;

const isStart = (message: unknown): message is Start =>
  typeof message === 'object' && message !== null && 'ran' in message;

describe('a fleet of four processes with a job every second', () => {
  it('runs the job once a second, though each of them starts it, by clocks that differ', async () => {
    const env = { KEY_PREFIX: `test:${randomUUID()}:` };
    const fleet = clocks.map((ahead) => forkWorker('cron', { env: { ...env, CLOCK: String(ahead) } }));
    try {
      const all = await Promise.all(fleet.map((worker) => worker.message(isStart)));
      // Everybody takes part from the period on that comes after the first of the slowest.
      const first = 1 + Math.max(...all.map(({ period }) => period));
      const readOn = async (worker: Worker): Promise<void> => {
        for (let period = 0; period < first + periods;) {
          const start = await worker.message(isStart);
          all.push(start);
          ({ period } = start);
        }
      };
      await Promise.all(fleet.map(readOn));

      const disturbed = (period: number): boolean => {
        const known = all.filter((start) => start.period === period);
        return known.length !== fleet.length || known.some(({ late }) => late > onTime);
      };
      const runs: Record<number, number> = {};
      for (let period = first + 1; period <= first + periods; period++) {
        if (disturbed(period - 1) || disturbed(period)) continue;
        runs[period] = all.filter((start) => start.period === period && start.ran).length;
      }
      expect(Object.keys(runs).length).toBeGreaterThan(0);
      expect(runs).toEqual(Object.fromEntries(Object.keys(runs).map((period) => [period, 1])));
    } finally {
      await Promise.all(fleet.map((worker) => worker[Symbol.asyncDispose]()));
    }
  }, 60_000);
});
