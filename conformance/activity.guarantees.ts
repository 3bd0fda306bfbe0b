import type { ActivityReport, LockBackend } from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import { expect } from './expectations.js';

/** What processes tell of their locks. A backend may leave it out. */
export function activity(bench: BackendBench): void {
  const { describe, it, join, unique } = bench;

  describe('the reports of processes', () => {
    const minute = { rank: 1, lasts: 60_000 };
    const keep = async ({ backend }: { backend: LockBackend }, report: ActivityReport): Promise<boolean> => {
      if (!backend.report) return false;
      await backend.report(report);
      return true;
    };
    /** Of these processes only: other tests share the server. */
    const read = async ({ backend }: { backend: LockBackend }, ...processes: string[]) => {
      const { reports } = await backend.reports!(1_000);
      return reports.filter(({ process }) => processes.includes(process));
    };

    it('are read by every client, the highest rank first, with their age', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const [low, high] = [unique(), unique()];
      const text = 'ü {"a": "1 2\\n"}\n%d 100 %';
      if (!(await keep(a, { process: low, text, rank: 1, lasts: 60_000 }))) return;
      await keep(b, { process: high, text: '', rank: 20, lasts: 60_000 });
      const reports = await read(c, low, high);
      expect(reports.map((report) => [report.process, report.text])).toEqual([
        [high, ''],
        [low, text],
      ]);
      for (const { age } of reports) expect(age >= 0 && age < 60_000).toBe(true);
      expect((await c.backend.reports!(1)).reports).toHaveLength(1);
      expect((await c.backend.reports!(1)).total).toBeGreaterThanOrEqual(2);
    });

    it('take the place of the earlier one of the same process', async () => {
      const a = await join();
      const process = unique();
      if (!(await keep(a, { ...minute, process, text: 'first' }))) return;
      await keep(a, { ...minute, process, text: 'second' });
      expect((await read(a, process)).map(({ text }) => text)).toEqual(['second']);
    });

    it('vanish when their time is up, or when the process takes them back', async () => {
      const a = await join();
      const [brief, withdrawn, staying] = [unique(), unique(), unique()];
      if (!(await keep(a, { process: brief, text: '', rank: 0, lasts: 1 }))) return;
      await keep(a, { ...minute, process: withdrawn, text: '' });
      await keep(a, { ...minute, process: staying, text: '' });
      await keep(a, { process: withdrawn, text: '', rank: 0, lasts: 0 });
      while ((await read(a, brief)).length > 0);
      expect((await read(a, brief, withdrawn, staying)).map(({ process }) => process)).toEqual([staying]);
    });
  });
}
