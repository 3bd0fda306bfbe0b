import { floor } from '../drivers/floor.js';
import type { Driver } from '../drivers/driver.js';
import { ours, oursSent } from '../drivers/ours.js';
import { redisSemaphore } from '../drivers/redis-semaphore.js';
import { redlock4 } from '../drivers/redlock4.js';
import { redlock5 } from '../drivers/redlock5.js';
import { redlockUniversal } from '../drivers/redlock-universal.js';
import { type Bar, atLeast, atMost, ratio } from '../report/bars.js';
import { type Results, type Values, nameOf } from '../report/results.js';
import { sum } from '../report/statistics.js';
import { Client } from '../stage/client.js';
import { type Stage, scaled } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'fleet';
const processes = 8;
/** As after a deploy: the code is not compiled yet. */
const cold = `${processes} × 1, the first 3 s`;
const warm = (flows: number): string => `${processes} × ${flows}, warm`;
const drivers: readonly Driver[] = [ours, oursSent, floor, redlock4, redlock5, redisSemaphore, redlockUniversal];

/** All processes at once, each on names of its own: the usual production, where Redis is the ceiling. */
async function measure({ redis }: Stage, clients: readonly Client[], flows: number, time: number): Promise<Values> {
  const before = await redis.cpu();
  const results = await Promise.all(
    clients.map((client, index) => client.do('cycles', { flows, time, names: `fleet:${index}` })),
  );
  const redisCpu = (await redis.cpu()) - before;
  const cycles = sum(results.map((result) => result.cycles));
  return {
    cyclesPerSecond: sum(results.map((result) => result.cycles / result.seconds)),
    redisCpu: redisCpu / cycles,
    clientCpu: sum(results.map(({ cpu }) => cpu)) / cycles,
  };
}

async function play(stage: Stage): Promise<void> {
  const { redis, results, rounds, tell } = stage;
  for (let round = 0; round < rounds; round++) {
    for (const driver of drivers) {
      const started = Array.from({ length: processes }, () => Client.start(driver, redis.url, { anyCore: true }));
      const clients = await Promise.all(started);
      const add = (variant: string, values: Values): void =>
        results.add({ scenario, variant, driver: driver.name, round, values });
      try {
        add(cold, await measure(stage, clients, 1, scaled(stage, 3_000)));
        await measure(stage, clients, 8, scaled(stage, 3_000));
        add(warm(1), await measure(stage, clients, 1, scaled(stage, 8_000)));
        add(warm(8), await measure(stage, clients, 8, scaled(stage, 5_000)));
      } finally {
        await Promise.all(clients.map((client) => client.close()));
        await redis.empty();
      }
      tell(`${scenario}: round ${round + 1}, ${driver.name}`);
    }
  }
}

function bars(results: Results): Bar[] {
  const overFloor = (variant: string, column: string, driver = nameOf('ours')): number | undefined =>
    ratio(results.value(scenario, variant, driver, column), results.value(scenario, variant, nameOf('floor'), column));
  return [
    atLeast(`fleet, ${cold}: cycles/s against the floor`, 0.5, overFloor(cold, 'cyclesPerSecond')),
    atLeast(`fleet, ${warm(1)}: cycles/s against the floor`, 0.7, overFloor(warm(1), 'cyclesPerSecond')),
    atLeast(
      `fleet, ${warm(1)}, release: 'sent': cycles/s against the floor`,
      0.9,
      overFloor(warm(1), 'cyclesPerSecond', oursSent.name),
    ),
    atMost(`fleet, ${warm(1)}: Redis CPU a cycle against the floor`, 1.8, overFloor(warm(1), 'redisCpu')),
    atMost(`fleet, ${warm(1)}: client CPU a cycle against the floor`, 1.5, overFloor(warm(1), 'clientCpu')),
    atLeast(`fleet, ${warm(8)}: cycles/s against the floor`, 0.85, overFloor(warm(8), 'cyclesPerSecond')),
    atMost(`fleet, ${warm(8)}: Redis CPU a cycle against the floor`, 1.4, overFloor(warm(8), 'redisCpu')),
  ];
}

export const fleet: Scenario = {
  name: scenario,
  title: 'A fleet: many processes on one Redis, each on names of its own',
  main: { column: 'cyclesPerSecond', better: 'more' },
  columns: [
    { key: 'cyclesPerSecond', title: 'cycles/s' },
    { key: 'redisCpu', title: 'Redis CPU µs', digits: 1 },
    { key: 'clientCpu', title: 'client CPU µs', digits: 1 },
  ],
  play,
  bars,
};
