import { uncontended } from '../drivers/all.js';
import { type Bar, atMost } from '../report/bars.js';
import { type Results, nameOf } from '../report/results.js';
import { Client } from '../stage/client.js';
import type { Stage } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'renewed';
const variant = '5,000 locks, 10 s lease';
const count = 5000;
const lease = 10_000;

/** One driver after the other, and once: it takes two leases and more, and what is counted does not scatter. */
async function play({ redis, results, tell }: Stage): Promise<void> {
  for (const driver of uncontended.filter(({ renews }) => renews)) {
    const client = await Client.start(driver, redis.url, { lease });
    try {
      const heap = await client.do('hold', { count });
      // Warm, as everywhere: each library has renewed once.
      await client.do('idle', { time: lease });
      // Over a whole lease, so that a library that renews at its end is counted once.
      const { result, requests } = await redis.requestsDuring(() => client.do('idle', { time: lease }));
      await client.do('letGo', undefined);
      const seconds = lease / 1000;
      const { cpu, stall, computing } = result;
      const values = { requests: requests / seconds, cpu: cpu / 1000 / seconds, heap, stall, computing };
      results.add({ scenario, variant, driver: driver.name, round: 0, values });
    } finally {
      await client.close();
    }
  }
  tell(`${scenario}: ${variant}`);
}

function bars(results: Results): Bar[] {
  const of = (column: string) => results.value(scenario, variant, nameOf('ours'), column);
  return [
    atMost('5,000 renewed locks, 10 s lease: requests/s', 10, of('requests')),
    atMost('5,000 renewed locks: bytes of heap a lock', 1024, of('heap')),
    atMost('5,000 renewed locks: longest stall of the loop, ms of CPU', 5, of('computing')),
  ];
}

export const renewed: Scenario = {
  name: scenario,
  title: 'Held and renewed',
  main: { column: 'requests', better: 'less' },
  columns: [
    { key: 'requests', title: 'requests/s', digits: 1 },
    { key: 'cpu', title: 'client CPU ms/s', digits: 2 },
    { key: 'heap', title: 'heap a lock, bytes' },
    { key: 'computing', title: 'longest stall, ms of CPU', digits: 1 },
    { key: 'stall', title: 'by the clock, ms', digits: 1 },
  ],
  play,
  bars,
};
