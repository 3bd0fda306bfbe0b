import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { LockProcess } from './support/lock-process.js';
import { uniqueName } from './support/locker.js';
import { Monitor, ServerView } from './support/server-view.js';

interface Entry {
  readonly token: number;
  readonly claim: string;
  /** The number of this call in its process. */
  readonly call: number;
  readonly process: number;
}

const PROCESSES = 4;
const FLOWS = 16;
const MILLISECONDS = 2000;

describe('4 processes with 16 flows each that add to one counter, with a read and a later write', () => {
  let redis: RedisServer;
  let view: ServerView;
  let processes: LockProcess[];

  beforeAll(async () => {
    redis = await startRedis();
    view = await ServerView.of(redis);
    processes = await Promise.all(Array.from({ length: PROCESSES }, () => LockProcess.start({ redis: redis.url })));
  });

  afterAll(async () => {
    await Promise.all(processes.map((process) => process.kill()));
    await view[Symbol.asyncDispose]();
    await redis.stop();
  });

  /** Lets all of them contend. Returns what they recorded inside the lock, and what Redis saw. */
  async function run(
    fairness: 'handoff' | 'strict',
  ): Promise<{ sum: number; value: number; journal: Entry[]; arrived: string[] }> {
    const name = uniqueName();
    const [counter, list] = [`${name}:counter`, `${name}:journal`];
    await using monitor = await Monitor.of(view);
    const results = await Promise.all(
      processes.map((process) =>
        process.call<{ increments: number }>('contend', {
          ...{ name, counter, journal: list, flows: FLOWS, fairness, milliseconds: MILLISECONDS },
        }),
      ),
    );
    await monitor.sync();
    const journal = (await view.redis.lrange(list, 0, -1)).map((entry) => JSON.parse(entry) as Entry);
    const value = Number(await view.redis.get(counter));
    await view.redis.del(counter, list);
    const asked = monitor.runs.filter(({ script }) => script === 'acquire').map(({ claim }) => claim);
    return {
      sum: results.reduce((sum, { increments }) => sum + increments, 0),
      value,
      journal,
      arrived: [...new Set(asked)],
    };
  }

  function expectNoUpdateLost({ sum, value, journal }: { sum: number; value: number; journal: Entry[] }): void {
    expect(value).toBe(sum);
    expect(journal).toHaveLength(sum);
    // Every flow had several turns: this was contention, not one process that ran first.
    expect(sum).toBeGreaterThan(PROCESSES * FLOWS);
    // I1: the order inside the lock is the order of the tokens, and none was issued twice.
    const tokens = journal.map(({ token }) => token);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(new Set(journal.map(({ process }) => process)).size).toBe(PROCESSES);
  }

  function expectOrderOfCalls(journal: Entry[]): void {
    for (const process of new Set(journal.map((entry) => entry.process))) {
      const calls = journal.filter((entry) => entry.process === process).map(({ call }) => call);
      expect(calls).toEqual(calls.map((_, index) => index));
    }
  }

  it("loses no update and serves all processes in the order in which they came to Redis (fairness 'strict')", async () => {
    const result = await run('strict');
    expectNoUpdateLost(result);
    expect(result.journal.map(({ claim }) => claim)).toEqual(result.arrived);
    expectOrderOfCalls(result.journal);
  });

  it("loses no update, keeps the order of the callers in each process and of the processes at Redis (fairness 'handoff')", async () => {
    const result = await run('handoff');
    expectNoUpdateLost(result);
    expectOrderOfCalls(result.journal);
    const claims = result.journal.map(({ claim }) => claim);
    // A process has one claim in Redis at a time: the first to arrive is served first.
    expect([...new Set(claims)]).toEqual(result.arrived.filter((claim) => claims.includes(claim)));
  });

  it('leaves no key except the register, and the processes end by themselves', async () => {
    const ends = await Promise.all(processes.map((process) => process.end()));
    expect(ends).toEqual(Array.from({ length: PROCESSES }, () => ({ code: 0, unhandled: [] })));
    await view.expectNothingLeft();
  });
});
