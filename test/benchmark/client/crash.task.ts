import type { Lockable } from '../drivers/driver.js';

/** Waits until it has the lock that a dead process held. Returns the time of the grant: milliseconds since 1970, by the clock of the server. */
export async function crashed(lockable: Lockable, { name }: { name: string }): Promise<number> {
  let at: number | undefined;
  while (at === undefined) {
    await lockable
      .run(name, () => {
        at = performance.timeOrigin + performance.now();
        return undefined;
      })
      // Its patience is over sooner than the lease: it asks again.
      .catch(() => undefined);
  }
  return at;
}
