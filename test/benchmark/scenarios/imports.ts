import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { floor } from '../drivers/floor.js';
import { ours } from '../drivers/ours.js';
import { redisSemaphore } from '../drivers/redis-semaphore.js';
import { redlock5 } from '../drivers/redlock5.js';
import { type Bar, atMost } from '../report/bars.js';
import type { Results } from '../report/results.js';
import type { Stage } from '../stage/stage.js';
import type { Scenario } from './scenario.js';

const scenario = 'imports';
const variant = 'a fresh process';
const run = promisify(execFile);

/** What each library is imported by. A lock by hand needs none. */
const packages = [
  { driver: floor.name, library: undefined },
  { driver: ours.name, library: 'nestjs-redis-lock' },
  { driver: redlock5.name, library: 'redlock' },
  { driver: redisSemaphore.name, library: 'redis-semaphore' },
];

const present = ['reflect-metadata', '@nestjs/common', '@nestjs/core', 'ioredis'];

/** Milliseconds for what an application imports anyway, and for a library after it. */
async function measure(library: string | undefined): Promise<{ present: number; beyond: number }> {
  const imports = (names: readonly string[]) => names.map((name) => `await import('${name}');`).join('');
  const program = `const at = () => performance.now(); const begin = at(); ${imports(present)} const then = at();
    ${imports(library === undefined ? [] : [library])} console.log(JSON.stringify({ present: then - begin, beyond: at() - then }));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  return JSON.parse(stdout) as { present: number; beyond: number };
}

/** The libraries in turn, each time in a process of its own. */
async function play({ results, scale, tell }: Stage): Promise<void> {
  for (let round = 0; round < 25 * scale; round++) {
    for (const { driver, library } of packages) {
      results.add({ scenario, variant, driver, round, values: await measure(library) });
    }
  }
  tell(`${scenario}: ${variant}`);
}

function bars(results: Results): Bar[] {
  const beyond = results.value(scenario, variant, ours.name, 'beyond');
  return [atMost('import: ms beyond Nest and ioredis', 30, beyond)];
}

export const imports: Scenario = {
  name: scenario,
  title: 'Importing the library after Nest and ioredis',
  columns: [
    { key: 'beyond', title: 'ms beyond Nest and ioredis', digits: 1 },
    { key: 'present', title: 'ms for Nest and ioredis' },
  ],
  play,
  bars,
};
