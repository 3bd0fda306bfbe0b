import type { Lockable } from '../drivers/driver.js';
import { Samples } from './samples.js';

interface CyclesSettings {
  /** How many go round at once, each on names of its own. */
  readonly flows: number;
  /** Milliseconds to go round for… */
  readonly time?: number;
  /** …or how many cycles in all. */
  readonly cycles?: number;
  /** What its names begin with, where other processes go round, too. */
  readonly names?: string;
}

export interface CyclesResult {
  readonly cycles: number;
  readonly seconds: number;
  /** Milliseconds of each cycle. */
  readonly times: Float64Array;
  /** User and system time of this process, µs. */
  readonly cpu: number;
}

const nothing = (): undefined => undefined;
let count = 0;

/** Acquire and release, a new name every time. */
export async function cycles(lockable: Lockable, settings: CyclesSettings): Promise<CyclesResult> {
  const {
    flows,
    time = Number.POSITIVE_INFINITY,
    cycles: wanted = Number.POSITIVE_INFINITY,
    names = 'bench',
  } = settings;
  const times = new Samples();
  let begun = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const flow = async () => {
    let from = performance.now();
    while (from - start < time && begun++ < wanted) {
      await lockable.run(`${names}:${count++}`, nothing);
      const to = performance.now();
      times.add(to - from);
      from = to;
    }
  };
  await Promise.all(Array.from({ length: flows }, flow));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const { all } = times;
  return { cycles: all.length, seconds, times: all, cpu: user + system };
}
