import { uncontended } from '../drivers/all.js';
import { type Bar, atMost, exactly } from '../report/bars.js';
import { type Results, nameOf } from '../report/results.js';
import { Client } from '../stage/client.js';
import type { BenchRedis } from '../stage/redis.js';
import type { Stage } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'names';
const variant = '200,000 names';
const MB = 1024 * 1024;

async function keysWithoutExpiry({ client }: BenchRedis): Promise<number> {
  let without = 0;
  for await (const keys of client.scanStream({ count: 1000 })) {
    for (const key of keys as string[]) if ((await client.pttl(key)) === -1) without++;
  }
  return without;
}

async function play({ redis, results, scale, tell }: Stage): Promise<void> {
  const count = Math.round(200_000 * scale);
  for (const driver of uncontended) {
    const client = await Client.start(driver, redis.url);
    try {
      // Connections, buffers and compiled code are there before it begins.
      await client.do('names', { count: 20_000, flows: 64 });
      await redis.empty();
      const before = await redis.memory();
      const heap = await client.do('names', { count, flows: 64 });
      const values = {
        heap: heap / MB,
        keys: await redis.client.dbsize(),
        memory: ((await redis.memory()) - before) / MB,
        withoutExpiry: await keysWithoutExpiry(redis),
      };
      results.add({ scenario, variant, driver: driver.name, round: 0, values });
    } finally {
      await client.close();
      await redis.empty();
    }
  }
  tell(`${scenario}: ${count} names`);
}

function bars(results: Results): Bar[] {
  const of = (column: string) => results.value(scenario, variant, nameOf('ours'), column);
  return [
    // 5 bytes a name would be more: the heap itself does not come out equal to the byte.
    atMost('200,000 names: heap that stays, MB', 1, of('heap')),
    atMost('200,000 names: memory that stays in Redis, MB', 1, of('memory')),
    exactly('200,000 names: keys without expiry', 0, of('withoutExpiry')),
  ];
}

export const names: Scenario = {
  name: scenario,
  title: 'Locked once each: what stays',
  columns: [
    { key: 'heap', title: 'heap MB', digits: 2 },
    { key: 'keys', title: 'keys in Redis' },
    { key: 'memory', title: 'memory of Redis MB', digits: 2 },
    { key: 'withoutExpiry', title: 'keys without expiry' },
  ],
  play,
  bars,
};
