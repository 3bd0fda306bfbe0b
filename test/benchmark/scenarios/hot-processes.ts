import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contended } from '../drivers/all.js';
import { type Bar, atLeast, exactly, ratio } from '../report/bars.js';
import { type Results, nameOf } from '../report/results.js';
import type { Client } from '../stage/client.js';
import { type Stage, interleaved, scaled, withClients } from '../stage/stage.js';
import { hotColumns, hotValues, requestsPerOwnerChange } from './hot-values.js';
import type { Scenario } from './scenario.js';

const scenario = 'hot-processes';
const variant = '4 processes × 16 waiters, 1 ms inside';
const [processes, waiters] = [4, 16];
let count = 0;

/** All of them on one name, with a ledger that they share. */
export async function run(
  clients: readonly Client[],
  { directory, waiters, time }: { directory: string; waiters: number; time: number },
) {
  const ledger = join(directory, `ledger-${count}`);
  writeFileSync(ledger, Buffer.from(Int32Array.of(0, -1, -1).buffer));
  const settings = { name: `bench:hot:${count++}`, waiters, inside: 1, startAt: Date.now() + 20, time };
  const seen = await Promise.all(
    clients.map((client, index) => client.do('hot', { ...settings, process: { index, ledger } })),
  );
  return { seen, value: readFileSync(ledger).readInt32LE(0) };
}

async function play(stage: Stage): Promise<void> {
  const locking = contended.filter(({ kind }) => kind !== 'reference');
  const directory = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  try {
    await withClients(stage, locking, stage.redis.url, { processes }, async (clients) => {
      for (const [driver, all] of clients) {
        const { result, requests } = await stage.redis.requestsDuring(() =>
          run(all, { directory, waiters, time: scaled(stage, 600, 300) }),
        );
        const values = requestsPerOwnerChange(result.seen, requests);
        stage.results.add({ scenario, variant, driver: driver.name, round: 0, values });
      }
      await interleaved(stage, { scenario, variant }, clients, async (_client, _driver, all) => {
        // A second, and no less: fairness is judged over one.
        const { seen, value } = await run(all, { directory, waiters, time: 1000 });
        return hotValues(seen, value);
      });
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function bars(results: Results): Bar[] {
  const ours = nameOf('ours');
  const of = (column: string) => results.value(scenario, variant, ours, column);
  const best = (column: string) => results.best('peer', scenario, variant, column)?.value;
  const total = (driver: string, column: string) => results.value(scenario, variant, driver, column, 'total');
  const here = 'hot name, 4 processes × 16';
  return [
    atLeast(
      `${here}: acquisitions/s against the best peer`,
      1,
      ratio(of('acquisitionsPerSecond'), best('acquisitionsPerSecond')),
    ),
    atLeast(
      `${here}: owner changes/s against the best peer`,
      2,
      ratio(of('ownerChangesPerSecond'), best('ownerChangesPerSecond')),
    ),
    atLeast(`${here}: Jain over a second`, 0.95, of('jain')),
    exactly(`${here}: starved callers`, 0, total(ours, 'starved')),
    exactly(`${here}: lost updates`, 0, total(ours, 'lost')),
    atLeast(`${here}: lost updates of a driver without a lock`, 1, total(nameOf('broken'), 'lost')),
  ];
}

export const hotProcesses: Scenario = {
  name: scenario,
  title: 'One hot name, several processes',
  main: { column: 'ownerChangesPerSecond', better: 'more' },
  columns: hotColumns('processes'),
  play,
  bars,
};
