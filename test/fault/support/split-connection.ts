import type { RedisConnection } from '../../support/backends.js';

/** A connection whose commands and subscription use different links, so that a test can break one of them.
 * The backend reads its options once for each: first for the commands, then for the subscription.
 */
export function splitConnection(commands: number, subscription: number): RedisConnection {
  let made = 0;
  return {
    host: '127.0.0.1',
    get port() {
      made += 1;
      return made === 1 ? commands : subscription;
    },
  };
}
