import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Lockable } from '../drivers/driver.js';

/** Milliseconds on the monotonic clock that all processes of this machine share. */
const monotonic = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;

let end: (() => void) | undefined;

/** Retries until it has the lock, and keeps it. Returns the time of the grant. */
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

/** Releases it. Returns the time at which the release began, but only after it has ended: the reply wakes another process on the same core. */
export async function giveBack(): Promise<number> {
  const at = monotonic();
  end!();
  await sleep(5);
  return at;
}

let pinged: Redis | undefined;

/** How long one PING takes, on a connection of its own: ms. */
export async function ping(_: Lockable, { url }: { url: string }): Promise<number> {
  if (!pinged) {
    pinged = new Redis(url);
    await pinged.ping();
  }
  const sent = performance.now();
  await pinged.ping();
  return performance.now() - sent;
}
