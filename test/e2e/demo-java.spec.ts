import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Report } from '../../sample/demo/report.js';
import { ProgramRun } from '../support/program-run.js';

const demo = [join(import.meta.dirname, '../../dist/sample/sample/demo/main.js'), '--java'];
const missing = process.env['WHY_NO_BOX_OFFICE'];
const own = { REDIS_URL: '' };

describe('npm run demo -- --java', () => {
  it('says plainly that there is no JDK, and leaves nothing', async () => {
    await using run = await ProgramRun.start(demo, { REDIS_URL: 'redis://127.0.0.1:1', PATH: '' });
    expect(await run.exitCode()).toBe(1);
    expect(run.stderr).toMatch(/--java: there is no javac on PATH\. Install a JDK \(17 or later\) and Maven/);
    expect(run.stderr).not.toContain(' at ');
    expect(run.stdout).toBe('');
    expect(await run.leftFiles()).toEqual([]);
  });

  it.each([
    ['--web', {}],
    ['--json', { DATABASE_URL: 'postgres://127.0.0.1/sale' }],
  ])('refuses %s with %p', async (option, env) => {
    await using run = await ProgramRun.start([...demo, option], env);
    expect(await run.exitCode()).toBe(2);
    expect(run.stderr).toContain('--java: ');
  });

  if (missing) {
    it.skip(`sells no ticket in Java here: ${missing}`, () => undefined);
    return;
  }

  it('sells each ticket once, some of them in Java, and too many without the lock', async () => {
    const numbers = ['--processes', '1', '--buyers', '90', '--tickets', '30'];
    await using run = await ProgramRun.start([...demo, '--json', ...numbers], own);
    expect({ code: await run.exitCode(), stderr: run.stderr }).toMatchObject({ code: 0 });
    const { sales, java, problems } = JSON.parse(run.stdout) as Report;
    expect({ java, problems }).toEqual({ java: true, problems: [] });
    const [none, mutex, lock] = sales;
    expect(none!.oversold).toBeGreaterThan(0);
    expect(mutex!.oversold).toBeGreaterThan(0);
    expect(lock).toMatchObject({ sold: 30, orders: 30, oversold: 0, bought: 30, refused: 60, errors: 0 });
    const [here = 0, there = 0] = lock!.soldBy;
    expect(here + there).toBe(30);
    expect(Math.min(here, there)).toBeGreaterThan(0);
    expect(run.isAlive).toBe(false);
    expect(await run.leftFiles()).toEqual([]);
  }, 300_000);

  it('stops the Java process on Ctrl-C, and leaves no file', async () => {
    await using run = await ProgramRun.start([...demo, '--processes', '1'], { ...own, PAYMENT_MS: '600000' });
    await run.says('no lock: 400 buyers');
    run.pressCtrlC();
    expect(await run.exitCode()).toBe(130);
    expect(run.isAlive).toBe(false);
    expect(await run.leftFiles()).toEqual([]);
  }, 300_000);
});
