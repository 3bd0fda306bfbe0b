import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { overQuorum } from '../drivers/all.js';
import { oursQuorum } from '../drivers/quorum.js';
import { type Bar, atLeast, exactly, ratio } from '../report/bars.js';
import type { Results } from '../report/results.js';
import type { Client } from '../stage/client.js';
import { BenchRedis } from '../stage/redis.js';
import { type Stage, interleaved, withClients } from '../stage/stage.js';
import { run } from './hot-processes.js';
import { hotColumns, hotValues } from './hot-values.js';
import type { Scenario } from './scenario.js';

const scenario = 'quorum';
const apart = '3 servers, 4 processes × 4 waiters, 1 ms inside';
const together = '3 servers, 1 process × 16 waiters, 1 ms inside';
const processes = 4;

/** Some would not come out of a common warm-up for minutes: their callers take the votes from each other. */
async function oneByOne(clients: readonly Client[]): Promise<void> {
  for (const client of clients) await client.do('cycles', { flows: 16, cycles: 10_000, time: 500 });
}

/** Votes are split if several processes ask at once; one process has no contention. */
async function play(stage: Stage): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'lock-bench-'));
  const servers = await Promise.all([1, 2, 3].map(() => BenchRedis.start()));
  try {
    const urls = servers.map(({ url }) => url).join(',');
    await withClients(stage, overQuorum, urls, { processes, warm: oneByOne }, async (clients) => {
      await interleaved(stage, { scenario, variant: apart }, clients, async (_client, _driver, all) => {
        const { seen, value } = await run(all, { directory, waiters: 4, time: 1000 });
        return hotValues(seen, value);
      });
      await interleaved(stage, { scenario, variant: together }, clients, async (client) => {
        const { seen, value } = await run([client], { directory, waiters: 16, time: 1000 });
        return hotValues(seen, value);
      });
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(directory, { recursive: true, force: true });
  }
}

function bars(results: Results): Bar[] {
  const ours = oursQuorum.name;
  return [apart, together].flatMap((variant) => {
    const against = (column: string) =>
      ratio(results.value(scenario, variant, ours, column), results.best('peer', scenario, variant, column)?.value);
    return [
      atLeast(`quorum of ${variant}: acquisitions/s against the best peer`, 1, against('acquisitionsPerSecond')),
      atLeast(`quorum of ${variant}: owner changes/s against the best peer`, 2, against('ownerChangesPerSecond')),
      exactly(`quorum of ${variant}: starved callers`, 0, results.value(scenario, variant, ours, 'starved', 'total')),
      exactly(`quorum of ${variant}: lost updates`, 0, results.value(scenario, variant, ours, 'lost', 'total')),
    ];
  });
}

export const quorum: Scenario = {
  name: scenario,
  title: 'One hot name over a quorum',
  main: { column: 'ownerChangesPerSecond', better: 'more' },
  columns: hotColumns('processes').filter(({ key }) => key !== 'requests'),
  play,
  bars,
};
