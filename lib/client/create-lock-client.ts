import { located } from '../errors/configuration.js';
import type { LockClientOptions } from './client.options.js';
import { connectionOf } from './connection-of.js';
import { RedisLockClient } from './redis-lock.client.js';

/**
 * Locks without Nest: for scripts, and for workers that share locks with a Nest application. It connects at the first call, or with
 * `connect()`. Close it at the end: `close()`, or `await using locks = createLockClient(…)`.
 * @param options left out: a Redis on this machine, and the defaults. Processes share their locks when they use the same Redis and
 * `keyPrefix`.
 * @throws LockConfigurationError at once for a wrong or unknown option.
 */
export function createLockClient(options: LockClientOptions = {}): RedisLockClient {
  return new RedisLockClient(located('createLockClient', () => connectionOf(options)));
}
