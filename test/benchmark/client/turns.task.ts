import { setTimeout as sleep } from 'node:timers/promises';
import type { Lockable } from '../drivers/driver.js';

export interface TurnsSettings {
  readonly name: string;
  readonly callers: number;
  /** ns of the clock that all processes of this machine share. */
  readonly until: bigint;
  /** Milliseconds inside the lock. */
  readonly inside: number;
}

export interface Turns {
  readonly turns: number;
  /** ms */
  readonly longest: number;
}

/** So many callers take the lock, again and again. */
export async function turns(lockable: Lockable, { name, callers, until, inside }: TurnsSettings): Promise<Turns> {
  let [count, longest] = [0, 0];
  const caller = async (): Promise<void> => {
    while (process.hrtime.bigint() < until) {
      const asked = performance.now();
      await lockable.run(name, () => {
        longest = Math.max(longest, performance.now() - asked);
        count++;
        return inside > 0 ? sleep(inside) : undefined;
      });
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { turns: count, longest };
}
