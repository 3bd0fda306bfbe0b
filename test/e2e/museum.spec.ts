import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { names } from '../../sample/museum/exhibits/index.js';
import type { Report } from '../../sample/museum/report.js';
import { ProgramRun } from '../support/program-run.js';

const museum = join(import.meta.dirname, '../../dist/sample/sample/museum/main.js');

describe('npm run museum', () => {
  let run: ProgramRun;
  let code: number | null;

  beforeAll(async () => {
    run = await ProgramRun.start([museum, '--json']);
    code = await run.exitCode();
  }, 240_000);

  afterAll(() => run[Symbol.asyncDispose]());

  it.each(names)('%s: the lock by hand breaks, and ours holds in the same run', (name) => {
    const { exhibits } = JSON.parse(run.stdout) as Report;
    const { theirs, ours } = exhibits.find((exhibit) => exhibit.name === name)!;
    expect({ theirs: theirs.error, ours: ours.error }).toEqual({});
    expect(theirs).toMatchObject({ verdict: { broken: true } });
    expect(ours).toMatchObject({ verdict: { broken: false } });
    expect(theirs.steps.map(({ mood }) => mood)).toContain('bad');
    expect(theirs.steps.map(({ mood }) => mood)).not.toContain('good');
    expect(ours.steps.map(({ mood }) => mood)).toContain('good');
    expect(ours.steps.map(({ mood }) => mood)).not.toContain('bad');
    // The step in which it breaks points at the line of the code that does it.
    for (const { mood, at } of theirs.steps) if (mood === 'bad') expect(theirs.code).toContain(at);
  });

  it('exits with 0, prints only JSON on stdout, and leaves no process and no file behind', async () => {
    expect({ code, ok: (JSON.parse(run.stdout) as Report).ok }).toEqual({ code: 0, ok: true });
    expect(run.isAlive).toBe(false);
    expect(await run.leftFiles()).toEqual([]);
  });

  it('stops everything that it started on Ctrl-C', async () => {
    await using interrupted = await ProgramRun.start([museum, 'polling']);
    await interrupted.says('1/1 Polling');
    interrupted.pressCtrlC();
    expect(await interrupted.exitCode()).toBe(130);
    expect(interrupted.isAlive).toBe(false);
    expect(await interrupted.leftFiles()).toEqual([]);
  }, 60_000);

  it.each([
    ['--port=x', "--port: 'x' is no port"],
    ['mona-lisa', "There is no exhibit 'mona-lisa'"],
  ])('refuses %s and says what is wrong', async (argument, message) => {
    await using refused = await ProgramRun.start([museum, argument]);
    expect(await refused.exitCode()).toBe(2);
    expect(refused.stderr).toContain(message);
    expect(refused.stdout).toBe('');
  });
});
