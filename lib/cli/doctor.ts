import { performance } from 'node:perf_hooks';
import { silence } from '../core/lock-log.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import { type Arguments, noNames } from './arguments.js';
import { connect } from './connect.js';
import { exitCode } from './exit-codes.js';
import { json, paintFor, print } from './output.js';

/** How many round trips are measured. */
const trips = 5;

/** The checks of an application's start. */
export async function doctor(given: Arguments): Promise<number> {
  noNames('doctor', given);
  await using connected = await connect(given, { activity: false }, silence);
  const { locks, connection } = connected;
  const findings = await connection.examine(() => false);
  const roundTrip = await fastest(() => locks.inspect('nestjs-redis-lock:doctor'));
  const mistakes = findings.filter(({ remark }) => !remark || given.options['strict'] === true);
  if (given.options['json']) print(json({ findings, roundTrip }));
  else for (const line of report(findings, roundTrip, given)) print(line);
  return mistakes.length > 0 ? exitCode.findings : exitCode.ok;
}

function report(findings: readonly LockFinding[], roundTrip: number, { options }: Arguments): string[] {
  const paint = paintFor(options);
  return [
    ...findings.map(
      ({ code, message, remark }) => `${remark ? 'remark ' : paint.red('finding')}  ${message} [${code}]`,
    ),
    `Redis answers after ${roundTrip.toFixed(1)} ms; ${findings.length === 0 ? 'nothing found' : `found: ${findings.length}`}.`,
  ];
}

/** The shortest of some: the others may have waited for this machine. */
async function fastest(action: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let trip = 0; trip < trips; trip++) {
    const startedAt = performance.now();
    await action();
    best = Math.min(best, performance.now() - startedAt);
  }
  return Math.round(best * 10) / 10;
}
