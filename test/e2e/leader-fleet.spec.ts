import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { SampleProcess } from '../support/sample-process.js';

interface Answer {
  readonly latest: Pick<Report, 'epoch' | 'pid' | 'made'> | null;
  readonly isLeader: boolean;
  readonly here: number;
}

interface Report {
  readonly epoch: number;
  readonly pid: number;
  readonly made: number;
  readonly isLeader: boolean;
  readonly here: number;
}

describe('a fleet of four processes with a report that one of them makes', () => {
  let directory: string;
  let redis: RedisServer;
  let fleet: SampleProcess[];
  /** Each report that was seen, in order. */
  let seen: Report[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leader-fleet-'));
    redis = await startRedis();
    seen = [];
    fleet = await SampleProcess.fleet(4, environment());
  }, 240_000);

  afterEach(async () => {
    await Promise.all(fleet.map((one) => one[Symbol.asyncDispose]()));
    await redis.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const environment = (): NodeJS.ProcessEnv => ({
    REDIS_URL: redis.url,
    DATABASE_FILE: join(directory, 'sale.sqlite'),
    LEASE_MS: '1500',
    REPORT_MS: '50',
  });

  const look = async (at: SampleProcess): Promise<Report> => {
    const { latest, ...here } = (await at.request('GET', '/reports/sales')).body as unknown as Answer;
    const report = { epoch: 0, pid: 0, made: 0, ...latest, ...here };
    if (report.pid && report.made !== seen.at(-1)?.made) seen.push(report);
    return report;
  };

  /** Three further reports of one process, none of those that left. Who made them. */
  async function reportsOfOne(witness: SampleProcess, not: readonly number[]): Promise<number> {
    let pid = 0;
    let made = 0;
    let count = 0;
    while (count < 3) {
      const report = await look(witness);
      if (report.pid && report.made !== made && !not.includes(report.pid)) {
        count = report.pid === pid ? count + 1 : 0;
        ({ pid, made } = report);
      }
      await pause(10);
    }
    return pid;
  }

  /** No two processes had one epoch, and no process came back with an earlier one. */
  function expectOneAfterAnother(): void {
    const epochs = seen.map(({ epoch }) => epoch);
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    const makers = new Map<number, Set<number>>();
    for (const { epoch, pid } of seen) makers.set(epoch, (makers.get(epoch) ?? new Set()).add(pid));
    expect([...makers.values()].filter(({ size }) => size > 1)).toEqual([]);
  }

  const of = (pid: number): SampleProcess => fleet.find((one) => one.pid === pid)!;
  const others = (pid: number): SampleProcess => fleet.find((one) => one.pid !== pid)!;

  it('goes on through kill -9, kill -STOP and a rolling restart, made by exactly one process at a time', async () => {
    const first = await reportsOfOne(fleet[0]!, []);
    expect((await Promise.all(fleet.map(look))).filter(({ isLeader }) => isLeader).map(({ here }) => here)).toEqual([
      first,
    ]);

    await of(first)[Symbol.asyncDispose]();
    fleet = fleet.filter(({ pid }) => pid !== first);
    const second = await reportsOfOne(fleet[0]!, [first]);

    of(second).pause();
    const third = await reportsOfOne(others(second), [second]);
    const { epoch } = seen.at(-1)!;
    of(second).resume();
    // It knows before it writes again.
    expect(await look(of(second))).toMatchObject({ isLeader: false });
    expect(await reportsOfOne(of(second), [])).toBe(third);
    expect(seen.at(-1)!.epoch).toBe(epoch);

    const old = fleet.map(({ pid }) => pid);
    for (const pid of old) {
      const fresh = await SampleProcess.start(environment());
      await of(pid).close();
      fleet = [...fleet.filter((one) => one.pid !== pid), fresh];
      await reportsOfOne(fresh, [pid]);
    }
    expect(old).not.toContain(seen.at(-1)!.pid);
    expectOneAfterAnother();
  }, 90_000);
});
