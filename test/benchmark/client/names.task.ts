import type { Lockable } from '../drivers/driver.js';
import { cycles } from './cycles.task.js';
import { heapInUse } from './memory.js';

/** Locks that many different names once each. Returns the bytes of heap that stayed. */
export async function names(lockable: Lockable, { count, flows }: { count: number; flows: number }): Promise<number> {
  const before = await heapInUse();
  // Its samples are as good as gone when it has answered.
  const { cycles: done } = await cycles(lockable, { flows, cycles: count });
  if (done !== count) throw new Error(`${done} of ${count} names were locked`);
  return (await heapInUse()) - before;
}
