import { setTimeout as sleep } from 'node:timers/promises';
import { distributed } from '../drivers/all.js';
import type { Driver } from '../drivers/driver.js';
import { type Bar, atMost } from '../report/bars.js';
import { type Results, nameOf } from '../report/results.js';
import { Client } from '../stage/client.js';
import type { BenchRedis } from '../stage/redis.js';
import { type Stage, withClients } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'crash';
const variant = 'lease 1 s';
const lease = 1000;

/** When the lease of the dead holder ends by the server's clock, ms since 1970: its record is the only string of that name. Negative: it is over. */
async function endOfLease({ client }: BenchRedis, name: string): Promise<number> {
  const [, keys] = await client.scan(0, 'MATCH', `*${name}*`, 'COUNT', 100_000, 'TYPE', 'string');
  return keys[0] === undefined ? -2 : client.pexpiretime(keys[0]);
}

/** Milliseconds from the end of a dead holder's lease until the waiter has the lock; none when it was over before it was looked at. */
async function afterDeath(
  redis: BenchRedis,
  holder: Client,
  waiter: Client,
  name: string,
): Promise<number | undefined> {
  await holder.do('ask', { name });
  let waits = true;
  const granted = waiter.do('crashed', { name }).finally(() => (waits = false));
  // Somewhere in the lease, renewed or not.
  await sleep(200 + Math.random() * 400);
  await holder.kill();
  const end = await endOfLease(redis, name);
  const seen = waits && end > 0;
  const at = await granted;
  // Half a lease too early: what was looked at is the next holder's record.
  return seen && at - end > -lease / 2 ? at - end : undefined;
}

/** The drivers side by side, a little apart: nearly all of the time they only wait. */
async function play(stage: Stage): Promise<void> {
  const { redis, results, scale, tell } = stage;
  await withClients(stage, distributed, redis.url, { lease }, async (waiters) => {
    for (let round = 0; round < Math.max(2, Math.round(4 * scale)); round++) {
      const holders = new Map<Driver, Client>();
      for (const driver of distributed) holders.set(driver, await Client.start(driver, redis.url, { lease }));
      await Promise.all(
        distributed.map(async (driver, index) => {
          await sleep(index * 70);
          const name = `bench:crash:${round}:${index}:`;
          const after = await afterDeath(redis, holders.get(driver)!, waiters.get(driver)![0]!, name);
          if (after !== undefined) results.add({ scenario, variant, driver: driver.name, round, values: { after } });
        }),
      );
    }
  });
  tell(`${scenario}: ${variant}`);
}

function bars(results: Results): Bar[] {
  const measured = results.value(scenario, variant, nameOf('ours'), 'after');
  return [atMost("crash to next holder: ms after the lease's end", 20, measured)];
}

export const crash: Scenario = {
  name: scenario,
  title: 'The holder is killed: from the end of its lease to the next holder',
  main: { column: 'after', better: 'less' },
  columns: [
    { key: 'after', title: 'median ms', digits: 1 },
    { key: 'after', title: 'longest ms', digits: 1, across: 'largest' },
  ],
  play,
  bars,
};
