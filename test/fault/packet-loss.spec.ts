import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Worker } from '../support/worker.js';

/** Why no packets can be lost on this machine; undefined where they can. */
function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are a Linux matter';
  const probe = 'ip link set lo up && iptables -A INPUT -i lo -m statistic --mode random --probability 0.3 -j DROP';
  const { status, stderr } = spawnSync('unshare', ['-n', 'sh', '-c', probe], { encoding: 'utf8' });
  return status === 0 ? undefined : `a network namespace with iptables is needed: ${stderr.trim()}`;
}

const why = whyNot();
if (why !== undefined) console.warn(`SKIPPED: locks and packet loss (${why})`);

interface Report {
  readonly granted: number;
  readonly twice: number;
  readonly slowest: number;
  readonly codes: Record<string, number>;
  readonly resource: { readonly value: number; readonly written: number };
  readonly healed: boolean;
  readonly partition: object;
  readonly unhandled: string[];
  readonly dropped: number;
}

const COMMAND_TIMEOUT = 300;
const WAIT = 1000;

(why === undefined ? describe : describe.skip)('a network of its own', () => {
  let report: Report;
  let end: Awaited<Worker['exited']>;

  beforeAll(async () => {
    const script = join(import.meta.dirname, '..', '..', 'dist', 'test-workers', 'lossy-network.js');
    const settings = JSON.stringify({ wait: WAIT, commandTimeout: COMMAND_TIMEOUT, milliseconds: 3500 });
    const child = spawn('unshare', ['-n', process.execPath, script, settings], {
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    await using worker = new Worker(child);
    report = await worker.message<Report>();
    // Nothing keeps it.
    worker.process.disconnect();
    end = await worker.exited;
  });

  it('that loses three packets of ten lets every call settle within wait and command time-out, with typed errors; no update is lost and no token given twice', () => {
    expect(report.dropped).toBeGreaterThan(20);
    expect(report.granted).toBeGreaterThan(10);
    expect(report.twice).toBe(0);
    expect(report.resource.value).toBe(report.resource.written);
    const known = ['LOCK_UNAVAILABLE', 'LOCK_WAIT_TIMEOUT', 'LOCK_LOST'];
    expect(Object.keys(report.codes).filter((code) => !known.includes(code))).toEqual([]);
    // I3 is a bound of the engine's own; a second more, because this machine may be busy.
    expect(report.slowest).toBeLessThan(WAIT + COMMAND_TIMEOUT + 1000);
    expect(report.healed).toBe(true);
  });

  it('that is cut between one client and Redis tells that client before another one has its lock, and lets it back in by itself', () => {
    expect(report.partition).toEqual({ refused: 'LOCK_UNAVAILABLE', lost: 'LOCK_LOST', tokensRise: true, back: true });
  });

  it('leaves nothing that keeps a process, and no rejection that nobody saw', () => {
    expect(report.unhandled).toEqual([]);
    expect(end).toEqual({ code: 0, signal: null });
  });
});
