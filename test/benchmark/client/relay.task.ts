import { Redis } from 'ioredis';
import type { Lockable } from '../drivers/driver.js';

/** Milliseconds on the clock that all processes of this machine share and nobody sets. */
const monotonic = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

let end: (() => void) | undefined;

/** Asks for the lock until it has it, and keeps it. Answers when that was. */
export function ask(lockable: Lockable, { name }: { name: string }): Promise<number> {
  return new Promise((granted) => {
    const inside = () =>
      new Promise<void>((resolve) => {
        granted(monotonic());
        end = resolve;
      });
    const attempt = (): void => void lockable.run(name, inside).catch(attempt);
    attempt();
  });
}

/** Begins to give it back. Answers when that was. */
export function giveBack(): number {
  const at = monotonic();
  end!();
  return at;
}

/** How long a PING takes, one after the other, on a connection of its own. */
export async function ping(_: Lockable, { url, count }: { url: string; count: number }): Promise<Float64Array> {
  const redis = new Redis(url);
  await redis.ping();
  const times = new Float64Array(count);
  for (let index = 0; index < count; index++) {
    const sent = performance.now();
    await redis.ping();
    times[index] = performance.now() - sent;
  }
  redis.disconnect();
  return times;
}
