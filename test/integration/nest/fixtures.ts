import { randomUUID } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import type { RedisLockModuleOptions } from 'nestjs-redis-lock';
import { sharedRedisUrl } from '../../support/redis-server.js';

/** Options for the shared Redis, with a prefix of the test. */
export const onSharedRedis = (options: RedisLockModuleOptions = {}): RedisLockModuleOptions => ({
  redis: sharedRedisUrl(),
  keyPrefix: `test:${randomUUID()}:`,
  ...options,
});

export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export function deferred(): Deferred {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Closes the application when the block ends, also when an expectation failed. */
export function closing<T extends INestApplicationContext>(app: T): T & AsyncDisposable {
  return Object.assign(app, { [Symbol.asyncDispose]: () => app.close() });
}
