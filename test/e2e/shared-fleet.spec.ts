import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { forkWorker } from '../support/worker.js';

interface Report {
  readonly most: number;
  readonly meetings: number;
}

const isReport = (message: unknown): message is Report => typeof message === 'object' && message !== null;

describe('a fleet of three processes', () => {
  it('never has more than ten calls in flight with `limit: 10`, and no reader beside a writer with `shared: true`', async () => {
    const env = { KEY_PREFIX: `test:${randomUUID()}:` };
    const fleet = Array.from({ length: 3 }, () => forkWorker('fleet', { env }));
    try {
      await Promise.all(fleet.map((worker) => worker.message()));
      for (const worker of fleet) worker.send({ calls: 60 });
      const reports = await Promise.all(fleet.map((worker) => worker.message(isReport)));
      expect(reports.map(({ meetings }) => meetings)).toEqual([0, 0, 0]);
      // All ten places were taken at some moment, and never an eleventh.
      expect(Math.max(...reports.map(({ most }) => most))).toBe(10);
    } finally {
      await Promise.all(fleet.map((worker) => worker[Symbol.asyncDispose]()));
    }
  }, 60_000);
});
