import type { HotResult, HotSettings } from '../client/hot.task.js';
import { contended, someContended } from '../drivers/all.js';
import type { Driver } from '../drivers/driver.js';
import { type Bar, atLeast, atMost, exactly, ratio } from '../report/bars.js';
import { type Results, nameOf } from '../report/results.js';
import { sum } from '../report/statistics.js';
import type { Client } from '../stage/client.js';
import { type Stage, interleaved, scaled, withClients } from '../stage/stage.js';
import { hotColumns, hotValues, requestsPerOwnerChange } from './hot-values.js';
import type { Scenario } from './scenario.js';

const scenario = 'hot-name';
const variantOf = (waiters: number, inside: number): string => `${waiters} waiters, ${inside} ms inside`;
/** The first two are what the bars are about; the others show how it grows, with fewer drivers and one round. */
const variants = [64, 8, 512].flatMap((waiters) => [
  { waiters, inside: 1, variant: variantOf(waiters, 1) },
  { waiters, inside: 0, variant: variantOf(waiters, 0) },
]);
let count = 0;

const run = (client: Client, settings: Pick<HotSettings, 'waiters' | 'inside' | 'time'>): Promise<HotResult> =>
  client.do('hot', { ...settings, name: `bench:hot:${count++}`, startAt: Date.now() + 5 });

type Clients = Map<Driver, Client[]>;

async function requests(stage: Stage, clients: Clients, variant: (typeof variants)[number]) {
  for (const [driver, [client]] of clients) {
    // Also the warming up for what is measured.
    const { result, requests } = await stage.redis.requestsDuring(() =>
      run(client!, { ...variant, time: scaled(stage, 400, 200) }),
    );
    const values = requestsPerOwnerChange([result], requests);
    stage.results.add({ scenario, variant: variant.variant, driver: driver.name, round: 0, values });
  }
}

async function play(stage: Stage): Promise<void> {
  await withClients(stage, contended, stage.redis.url, {}, async (clients) => {
    const some = new Map([...clients].filter(([driver]) => someContended.includes(driver)));
    for (const each of variants) {
      const main = each.waiters === 64;
      const playing = main ? clients : some;
      const rounds = main ? stage.rounds : 1;
      await requests(stage, playing, each);
      await interleaved(stage, { scenario, variant: each.variant, rounds }, playing, async (client) => {
        const seen = await run(client, { ...each, time: scaled(stage, 800, 300) });
        return hotValues([seen], seen.value);
      });
    }
  });
}

function bars(results: Results): Bar[] {
  const reference = nameOf('reference');
  const ours = nameOf('ours');
  const [slow, fast] = [variantOf(64, 1), variantOf(64, 0)];
  const of = (driver: string, column: string, variant = slow) => results.value(scenario, variant, driver, column);
  const against = (column: string) => ratio(of(ours, column), of(reference, column));
  const best = results.best('peer', scenario, fast, 'acquisitionsPerSecond');
  const here = 'hot name, 64 waiters, 1 ms inside';
  const all = results.variants(scenario);
  const lost = (driver: string) => all.map((variant) => results.value(scenario, variant, driver, 'lost', 'total') ?? 0);
  const overlooked = lost(nameOf('broken')).filter((updates) => updates === 0).length;
  return [
    atLeast(`${here}: owner changes/s against async-mutex`, 0.95, against('ownerChangesPerSecond')),
    atLeast(`${here}: Jain`, 0.99, of(ours, 'jain')),
    atMost(`${here}: longest wait against async-mutex's`, 1.2, against('longest')),
    atMost(`${here}: requests per owner change`, 1.1, of(ours, 'requests')),
    atLeast(
      'hot name, 64 waiters, 0 ms inside: acquisitions/s against the best peer',
      5,
      ratio(of(ours, 'acquisitionsPerSecond', fast), best?.value),
    ),
    atLeast(
      'hot name, 64 waiters, 0 ms inside: owner changes per acquisition',
      0.999,
      ratio(of(ours, 'ownerChangesPerSecond', fast), of(ours, 'acquisitionsPerSecond', fast)),
    ),
    exactly('hot name: lost updates', 0, all.length ? sum(lost(ours)) : undefined),
    exactly(
      'hot name: variants in which a driver without a lock was not caught',
      0,
      all.length ? overlooked : undefined,
    ),
  ];
}

export const hotName: Scenario = {
  name: scenario,
  title: 'One hot name, callers of one process',
  main: { column: 'ownerChangesPerSecond', better: 'more' },
  columns: hotColumns('callers'),
  play,
  bars,
};
