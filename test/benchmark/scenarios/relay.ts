import { setTimeout as sleep } from 'node:timers/promises';
import { distributed } from '../drivers/all.js';
import { type Bar, atMost } from '../report/bars.js';
import { type Results, type Values, nameOf } from '../report/results.js';
import { ascending, percentile } from '../report/statistics.js';
import type { Client } from '../stage/client.js';
import { startDelayed } from '../stage/delayed.js';
import { type Stage, interleaved, scaled, withClients } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'relay';
const direct = 'loopback';
const delayed = '1 ms each way';
let count = 0;

interface Switches {
  /** From the moment the holder begins to give back until the other process has the lock: each time, ms. */
  readonly taken: number[];
  /** A PING before each of them, after as long a pause: what a process that slept can do at best. */
  readonly pings: number[];
}

async function switches(pair: readonly Client[], url: string, time: number): Promise<Switches> {
  const name = `bench:relay:${count++}`;
  let [holder, waiter] = pair as [Client, Client];
  await holder.do('ask', { name });
  const end = performance.now() + time;
  const taken: number[] = [];
  const pings: number[] = [];
  while (performance.now() < end || taken.length < 3) {
    const granted = waiter.do('ask', { name });
    // Long enough to be in the queue, and at no fixed point of a polling library.
    await sleep(6 + Math.random() * 10);
    pings.push(await holder.do('ping', { url }));
    await sleep(6 + Math.random() * 10);
    const released = await holder.do('giveBack', undefined);
    taken.push((await granted) - released);
    [holder, waiter] = [waiter, holder];
  }
  await holder.do('giveBack', undefined);
  return { taken, pings };
}

async function measure(pair: readonly Client[], url: string, time: number): Promise<Values> {
  const both = await switches(pair, url, time);
  const taken = ascending(both.taken);
  const ping = percentile(ascending(both.pings), 0.5);
  const p50 = percentile(taken, 0.5);
  return { p50, p99: percentile(taken, 0.99), ping, roundTrips: p50 / ping };
}

async function play(stage: Stage): Promise<void> {
  const line = await startDelayed(stage.redis.port, 1);
  try {
    for (const [variant, url] of [
      [direct, stage.redis.url],
      [delayed, line.url],
    ] as const) {
      await withClients(stage, distributed, url, { processes: 2 }, async (clients) => {
        for (const pair of clients.values()) await switches(pair, url, scaled(stage, 300));
        await interleaved(stage, { scenario, variant }, clients, (_client, _driver, pair) =>
          measure(pair, url, scaled(stage, 600, 200)),
        );
      });
    }
  } finally {
    line.stop();
  }
}

function bars(results: Results): Bar[] {
  const measured = results.value(scenario, delayed, nameOf('ours'), 'roundTrips');
  return [atMost('relay between two processes, 1 ms each way: PING round trips a switch', 1.4, measured)];
}

export const relay: Scenario = {
  name: scenario,
  title: 'Two processes take turns: from the release in one to the lock in the other',
  main: { column: 'roundTrips', better: 'less' },
  columns: [
    { key: 'roundTrips', title: 'PING round trips', digits: 2 },
    { key: 'p50', title: 'p50 ms', digits: 2 },
    { key: 'p99', title: 'p99 ms', digits: 2 },
    { key: 'ping', title: 'PING ms', digits: 3 },
  ],
  play,
  bars,
};
