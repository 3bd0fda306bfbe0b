import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lockable } from '../drivers/driver.js';
import { heapInUse } from './memory.js';

let held: Array<() => Promise<void>> = [];

/** Takes and keeps so many locks. Answers the bytes of heap that each needs. */
export async function hold(lockable: Lockable, { count }: { count: number }): Promise<number> {
  // Once before: what is loaded or compiled by the first locks is no memory of a lock.
  await (
    await lockable.hold!('bench:warm')
  )();
  const before = await heapInUse();
  let next = 0;
  const some = async () => {
    while (next < count) held.push(await lockable.hold!(`bench:held:${next++}`));
  };
  await Promise.all(Array.from({ length: 64 }, some));
  await sleep(200);
  return ((await heapInUse()) - before) / count;
}

/** Does nothing while the library renews. */
export async function idle(_: Lockable, { time }: { time: number }): Promise<{ cpu: number; stall: number }> {
  const resolution = 1;
  const delay = monitorEventLoopDelay({ resolution });
  // The garbage collection of `hold` shall not count.
  await sleep(50);
  delay.enable();
  const cpu = process.cpuUsage();
  await sleep(time);
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  // What it measures is the time between two ticks that were meant to be `resolution` apart.
  return { cpu: user + system, stall: Math.max(0, delay.max / 1e6 - resolution) };
}

export async function letGo(): Promise<void> {
  await Promise.allSettled(held.map((release) => release()));
  held = [];
}
