import { setTimeout as sleep } from 'node:timers/promises';
import type { Lockable } from '../drivers/driver.js';
import { heapInUse } from './memory.js';
import { loopThread } from './loop-thread.js';

let held: Array<() => Promise<void>> = [];

/** Takes and keeps that many locks. Returns the bytes of heap that each needs. */
export async function hold(lockable: Lockable, { count }: { count: number }): Promise<number> {
  // Once before: code that the first locks load or compile is no memory of a lock.
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

interface Idleness {
  /** CPU of the process, microseconds. */
  readonly cpu: number;
  /** Longest time between two readings of the clock that should be 1 ms apart: ms, and the CPU time of the loop's thread in that time. */
  readonly stall: number;
  readonly computing: number;
}

/**
 * Does nothing while the library renews. A stall by the clock may be the machine's, and the CPU of the process is also its compiler's,
 * which has threads of its own: what the loop's thread itself computed is the library's, or the garbage collector's.
 */
export async function idle(_: Lockable, { time }: { time: number }): Promise<Idleness> {
  // The garbage collection of `hold` must not count.
  await sleep(50);
  const thread = loopThread();
  const cpu = process.cpuUsage();
  const end = performance.now() + time;
  let stall = 0;
  let computing = 0;
  let last = performance.now();
  let used = thread.computed();
  while (last < end) {
    await sleep(1);
    const now = performance.now();
    const computed = thread.computed();
    stall = Math.max(stall, now - last - 1);
    computing = Math.max(computing, computed - used);
    last = now;
    used = computed;
  }
  thread.close();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: user + system, stall, computing };
}

export async function letGo(): Promise<void> {
  await Promise.allSettled(held.map((release) => release()));
  held = [];
}
