import { describe, expect, it } from '@jest/globals';
import { randomRuns } from '../../support/random-runs.js';
import { sharedRedisUrl } from '../../support/redis-server.js';
import { forkWorker } from '../../support/worker.js';
import { connectTo, keysOf, unique } from './engine.js';
import type { TransfersJob } from '../../support/workers/transfers.js';

interface Outcome {
  made: number;
  problems: string[];
}

/** Runs each list of transfers in its own process, all at once. Returns what they did, and the balances. */
async function run(lists: number[][][], accountCount: number): Promise<{ outcomes: Outcome[]; balances: number[] }> {
  const redis = sharedRedisUrl();
  await using admin = connectTo(redis);
  const root = unique('transfers');
  const accounts = Array.from({ length: accountCount }, (_, index) => `${root}:account:${index}`);
  const keyPrefix = `${root}:lock:`;
  for (const account of accounts) await admin.set(account, 1_000);
  const workers = lists.map((transfers) => {
    const job: TransfersJob = { redis, keyPrefix, accounts, transfers, flows: 3 };
    return forkWorker('transfers', { env: { TRANSFERS: JSON.stringify(job) } });
  });
  try {
    await Promise.all(workers.map((worker) => worker.message()));
    for (const worker of workers) worker.send('go');
    const outcomes = await Promise.all(workers.map((worker) => worker.message<Outcome>()));
    const balances = (await admin.mget(accounts)).map(Number);
    // Only the token register is left.
    expect(await keysOf(admin, keyPrefix)).toEqual([`${keyPrefix}token-register`]);
    await admin.del(accounts);
    return { outcomes, balances };
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
  }
}

describe('several names, between processes', () => {
  it('that request the same two in opposite orders never deadlock', async () => {
    const times = 60;
    const { outcomes, balances } = await run(
      [Array.from({ length: times }, () => [0, 1]), Array.from({ length: times }, () => [1, 0])],
      2,
    );
    expect(outcomes).toEqual([
      { made: times, problems: [] },
      { made: times, problems: [] },
    ]);
    expect(balances).toEqual([1_000, 1_000]);
  });

  it('that request random sets all finish, and no transfer is lost', async () => {
    const accountCount = 5;
    const times = 40;
    let { seed } = randomRuns({ usual: 1, deep: 1 });
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const set = (): number[] => {
      const all = Array.from({ length: accountCount }, (_, index) => index);
      return Array.from({ length: 2 + random(2) }, () => all.splice(random(all.length), 1)[0]!);
    };
    const lists = Array.from({ length: 4 }, () => Array.from({ length: times }, set));
    const expected = Array.from({ length: accountCount }, () => 1_000);
    for (const [payer, ...payees] of lists.flat()) {
      expected[payer!]! -= payees.length;
      for (const payee of payees) expected[payee]! += 1;
    }
    const { outcomes, balances } = await run(lists, accountCount);
    expect(outcomes).toEqual(lists.map(() => ({ made: times, problems: [] })));
    expect(balances).toEqual(expected);
  });
});
