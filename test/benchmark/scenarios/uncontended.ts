import type { CyclesResult } from '../client/cycles.task.js';
import { uncontended as drivers } from '../drivers/all.js';
import type { Driver } from '../drivers/driver.js';
import { oursSent } from '../drivers/ours.js';
import { type Bar, atLeast, atMost, exactly, ratio } from '../report/bars.js';
import { type Results, type Values, nameOf } from '../report/results.js';
import { percentile } from '../report/statistics.js';
import type { Client } from '../stage/client.js';
import { type Stage, interleaved, scaled, withClients } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'uncontended';
const variantOf = (flows: number): string => `${flows} ${flows === 1 ? 'flow' : 'flows'}`;
/** Against the floor, with so many flows. */
const asked = [
  { flows: 1, bound: 0.95 },
  { flows: 64, bound: 1 },
  { flows: 512, bound: 1.5 },
];

async function measure({ redis }: Stage, client: Client, flows: number, time: number): Promise<Values> {
  const before = await redis.cpu();
  const { cycles, seconds, times, cpu }: CyclesResult = await client.do('cycles', { flows, time });
  const redisCpu = (await redis.cpu()) - before;
  const sorted = times.toSorted();
  return {
    cyclesPerSecond: cycles / seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    clientCpu: cpu / cycles,
    redisCpu: redisCpu / cycles,
  };
}

async function requests({ redis }: Stage, client: Client, flows: number): Promise<Values> {
  const cycles = 2048;
  const { requests } = await redis.requestsDuring(() => client.do('cycles', { flows, cycles }));
  return { requests: requests / cycles };
}

async function play(stage: Stage): Promise<void> {
  await withClients(stage, drivers, stage.redis.url, {}, async (clients) => {
    for (const [driver, [client]] of clients) {
      for (const { flows } of asked) {
        const values = await requests(stage, client!, flows);
        stage.results.add({ scenario, variant: variantOf(flows), driver: driver.name, round: 0, values });
      }
    }
    for (const { flows } of asked) {
      await interleaved(stage, { scenario, variant: variantOf(flows) }, clients, (client: Client, _driver: Driver) =>
        // Long enough for some tens of cycles above the 99th percentile with one flow.
        measure(stage, client, flows, scaled(stage, 1000)),
      );
    }
  });
}

function bars(results: Results): Bar[] {
  const ours = nameOf('ours');
  const floor = nameOf('floor');
  const rates = asked.flatMap(({ flows, bound }) => {
    const variant = variantOf(flows);
    const rate = results.value(scenario, variant, ours, 'cyclesPerSecond');
    const best = results.best('peer', scenario, variant, 'cyclesPerSecond');
    return [
      atLeast(
        `uncontended, ${variant}: cycles/s against the floor`,
        bound,
        ratio(rate, results.value(scenario, variant, floor, 'cyclesPerSecond')),
      ),
      atLeast(`uncontended, ${variant}: cycles/s against the best peer`, 1, ratio(rate, best?.value)),
      atMost(
        `uncontended, ${variant}: p99 against the floor's`,
        1.5,
        ratio(results.value(scenario, variant, ours, 'p99'), results.value(scenario, variant, floor, 'p99')),
      ),
    ];
  });
  const oneFlow = (driver: string) => results.value(scenario, variantOf(1), driver, 'cyclesPerSecond');
  const redisCpu = (driver: string) => results.value(scenario, variantOf(512), driver, 'redisCpu');
  return [
    ...rates,
    atLeast(
      "uncontended, 1 flow, release: 'sent': cycles/s against 'answered'",
      1.2,
      ratio(oneFlow(oursSent.name), oneFlow(ours)),
    ),
    atMost('Redis CPU per cycle at 512 flows, against the floor', 1, ratio(redisCpu(ours), redisCpu(floor))),
    exactly('requests per uncontended cycle', 2, results.value(scenario, variantOf(1), ours, 'requests')),
  ];
}

export const uncontended: Scenario = {
  name: scenario,
  title: 'Acquire and release, distinct names',
  main: { column: 'cyclesPerSecond', better: 'more' },
  columns: [
    { key: 'cyclesPerSecond', title: 'cycles/s' },
    { key: 'p50', title: 'p50 ms', digits: 3 },
    { key: 'p99', title: 'p99 ms', digits: 3 },
    { key: 'requests', title: 'requests a cycle', digits: 2 },
    { key: 'clientCpu', title: 'client CPU µs', digits: 1 },
    { key: 'redisCpu', title: 'Redis CPU µs', digits: 1 },
  ],
  play,
  bars,
};
