import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Report } from '../../sample/demo/report.js';
import type { SaleResult } from '../../sample/demo/sale-result.js';
import type { Guard } from '../../sample/src/settings.js';
import { ProgramRun } from '../support/program-run.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

/** What `npm run demo` runs: it builds, unless everything is built (as it is here) … */
const launcher = [join(import.meta.dirname, '../../scripts/sample.mjs'), 'demo'];
/** … and starts this. */
const demo = [join(import.meta.dirname, '../../dist/sample/sample/demo/main.js')];

describe('npm run demo', () => {
  let redis: RedisServer;
  let run: ProgramRun;
  let code: number | null;
  const report = () => JSON.parse(run.stdout) as Report;
  const sale = (guard: Guard): SaleResult => report().sales.find((candidate) => candidate.guard === guard)!;

  beforeAll(async () => {
    redis = await startRedis();
    run = await ProgramRun.start([...launcher, '--json', '--processes', '2', '--buyers', '90', '--tickets', '20'], {
      REDIS_URL: redis.url,
    });
    code = await run.exitCode();
  }, 120_000);

  afterAll(async () => {
    await run[Symbol.asyncDispose]();
    await redis.stop();
  });

  it('exits with 0 and prints only JSON on stdout', () => {
    expect({ code, stderr: run.stderr, ok: report().ok }).toMatchObject({ code: 0, ok: true });
    expect(report()).toMatchObject({
      processes: 2,
      buyers: 90,
      tickets: 20,
      database: 'sqlite',
      problems: [],
      surprises: [],
    });
  });

  it('sells tickets that do not exist when nothing guards the stock', () => {
    expect(sale('none').oversold).toBeGreaterThan(0);
    expect(sale('none').orders).toBe(20 + sale('none').oversold);
  });

  it('sells tickets that do not exist when every process has a mutex of its own', () => {
    expect(sale('mutex').oversold).toBeGreaterThan(0);
    expect(sale('mutex').orders).toBe(20 + sale('mutex').oversold);
  });

  it('sells every ticket exactly once under @DistributedLock, and tells all other buyers that it is sold out', () => {
    expect(sale('lock')).toMatchObject({
      sold: 20,
      orders: 20,
      oversold: 0,
      bought: 20,
      refused: 70,
      errors: 0,
      reasons: {},
    });
  });

  it('leaves no process and no file behind', async () => {
    expect(run.isAlive).toBe(false);
    expect(await run.leftFiles()).toEqual([]);
  });

  it('leaves no key in Redis without expiry', async () => {
    const client = new Redis(redis.url);
    const keys = await client.keys('*');
    const immortal = (
      await Promise.all(keys.map(async (key) => ((await client.pttl(key)) === -1 ? [key] : [])))
    ).flat();
    await client.quit();
    expect(immortal).toEqual([]);
  });
});

describe('npm run demo, interrupted or asked for nonsense', () => {
  it('stops everything that it started on Ctrl-C', async () => {
    await using run = await ProgramRun.start([...demo, '--processes', '2'], { REDIS_URL: '', PAYMENT_MS: '600000' });
    await run.says('no lock: 400 buyers');
    run.pressCtrlC();
    expect(await run.exitCode()).toBe(130);
    expect(run.isAlive).toBe(false);
    expect(await run.leftFiles()).toEqual([]);
  }, 60_000);

  it.each([
    ['--buyers=0', "--buyers: '0' given"],
    ['--tickets=1.5', "--tickets: '1.5' given"],
    ['--processes=17', "--processes: '17' given"],
    ['--prcesses=2', "'--prcesses'"],
  ])('refuses %s by name, with exit code 2', async (arg, message) => {
    await using run = await ProgramRun.start([...demo, arg]);
    expect(await run.exitCode()).toBe(2);
    expect(run.stderr).toContain(message);
    expect(run.stdout).toBe('');
  });

  it('explains its options', async () => {
    await using run = await ProgramRun.start([...demo, '--help']);
    expect(await run.exitCode()).toBe(0);
    for (const option of ['--processes', '--buyers', '--tickets', '--json', 'REDIS_URL', 'DATABASE_URL']) {
      expect(run.stdout).toContain(option);
    }
  });
});
