import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lostInTheOpen, violations } from './checker.js';
import { commandTimeout, type ContenderOptions } from './contender.js';
import { Director } from './director.js';
import type { Happening } from './history.js';
import { describeFault, type Fault, schedule } from './schedule.js';
import { Stage } from './stage.js';

/** Callers in each process. */
const flows = 4;

/** Longest time (ms) in which everybody gets the lock once all is well; a starving waiter waits forever. */
const longestWait = 20_000;

const root = join(import.meta.dirname, '..', '..');

interface RunOptions {
  readonly seed: number;
  readonly minutes: number;
  /** @default 4 */
  readonly processes?: number;
  /** @default those of the seed */
  readonly faults?: readonly Fault[];
  readonly broken?: ContenderOptions['broken'];
}

export interface Outcome {
  readonly violations: readonly string[];
  readonly history: readonly Happening[];
  /** One line that says how much the run has seen. */
  readonly summary: string;
  /** What was found, and how to see it again. */
  readonly report: string;
}

/** Lets the faults of a seed happen to a stage full of contenders, and answers what was broken of what is promised. */
export async function run(options: RunOptions): Promise<Outcome> {
  const { seed, minutes, processes = 4, broken } = options;
  const faults = options.faults ?? schedule({ seed, milliseconds: minutes * 60_000, processes });
  const directory = join(root, 'dist', 'chaos', broken === undefined ? `${seed}` : `broken-${broken}`);
  await using stage = await Stage.set({ seed, processes, flows, directory, broken });
  const director = new Director(stage);
  await Promise.all([director.run(faults), sleep(minutes * 60_000)]);
  await stage.end(longestWait);
  const history = stage.history();
  const found = violations(history, { commandTimeout });
  // Kept where there is something to look at.
  if (found.length === 0 || broken !== undefined) rmSync(directory, { recursive: true, force: true });
  return {
    violations: found,
    history,
    summary: `chaos, seed ${seed}: ${summary(history, faults.length - director.skipped)}`,
    report: [
      `${found.length} promises broken:`,
      ...found.slice(0, 20).map((line) => `  ${line}`),
      `the same faults once more: npm run test:chaos -- --seed ${seed} --minutes ${minutes}`,
      `what happened: ${relative(root, directory)}`,
      'the faults:',
      ...faults.map((fault) => `  ${describeFault(fault)}`),
    ].join('\n'),
  };
}

function summary(history: readonly Happening[], faults: number): string {
  const count = (matches: (happening: Happening) => boolean): number => history.filter(matches).length;
  const lost = (reason: string): number => count((one) => one.event === 'ended' && one.lost === reason);
  return [
    `${faults} faults`,
    `${count(({ event }) => event === 'started')} holds`,
    `${lost('expired')} expired`,
    `${lost('revoked')} revoked`,
    `${count((one) => one.event === 'touched' && !one.accepted)} refused by their token`,
    `${lostInTheOpen(history)} updates lost where no token is checked`,
    `${count((one) => one.event === 'settled' && one.outcome === 'LOCK_UNAVAILABLE')} calls unavailable`,
  ].join(', ');
}
