/**
 * A process that moves money between accounts in Redis, reading and writing the balances one by one, under the locks of the
 * accounts in the order in which it thinks of them. Reports how many transfers it has made, and its errors.
 */
import { Redis } from 'ioredis';

// Compiled, this file lies in dist/test-workers, beside the built package; the engine is no part of its public API.
const built = async (path: string): Promise<unknown> => import(new URL(`../modules/lib/${path}`, import.meta.url).href);
const { LockClient } = (await built('core/lock-client.js')) as typeof import('../../../lib/core/lock-client.js');
const { lockDefaults, resolveOptions } = (await built(
  'core/options.js',
)) as typeof import('../../../lib/core/options.js');
const { RedisBackend } = (await built(
  'backends/redis/index.js',
)) as typeof import('../../../lib/backends/redis/index.js');

export interface TransfersJob {
  redis: string;
  keyPrefix: string;
  accounts: string[];
  /** Each is a list of accounts: the first pays one to each of the others. */
  transfers: number[][];
  /** How many of them go on at once. */
  flows: number;
}

const { redis: url, keyPrefix, accounts, transfers, flows } = JSON.parse(process.env['TRANSFERS']!) as TransfersJob;
const problems: string[] = [];
const tell = (message: string): void => void problems.push(message);
const backend = new RedisBackend({
  redis: url,
  keyPrefix,
  commandTimeout: 5_000,
  log: { log: tell, warn: tell, error: tell },
});
const client = new LockClient(
  backend,
  { defaults: lockDefaults, maxWaiters: 1_000 },
  { log: tell, warn: tell, error: tell },
);
const redis = new Redis(url);
const options = resolveOptions({ wait: '30s' }, lockDefaults);
let made = 0;

async function transfer(names: readonly string[]): Promise<void> {
  const lock = await client.acquire(names, options);
  const balances: number[] = [];
  for (const name of names) balances.push(Number(await redis.get(name)));
  lock.assertHeld();
  for (const [index, name] of names.entries()) {
    await redis.set(name, balances[index]! + (index === 0 ? 1 - names.length : 1));
  }
  made++;
  await lock.release();
}

await client.start();
process.once('message', () => {
  const flow = async (): Promise<void> => {
    for (let next = transfers.pop(); next; next = transfers.pop()) {
      await transfer(next.map((index) => accounts[index]!)).catch((error: unknown) => tell(String(error)));
    }
  };
  void Promise.all(Array.from({ length: flows }, flow))
    .then(() => client.shutdown(0))
    .then(() => {
      redis.disconnect();
      process.send?.({ made, problems });
    });
});
process.send?.({ event: 'ready' });
