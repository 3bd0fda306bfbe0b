import type { Lockable } from '../drivers/driver.js';

/** Waits until it has the lock that a dead process held. Answers when that was: milliseconds since 1970, as the server counts. */
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
