/** Real redis-server processes for tests. */
export { ensureRedisServer, findValkeyServer, freePort, RedisServer, startRedis } from './redis-process.mjs';
export type { RedisServerOptions } from './redis-process.mjs';

/**
 * The Redis that all tests share (REDIS_URL, or the one that global-setup.ts started): use unique names, never FLUSHDB.
 * A test that harms its server starts one of its own with `startRedis()`.
 */
export function sharedRedisUrl(): string {
  const url = process.env['REDIS_URL'];
  if (url === undefined || url === '') throw new Error('No shared Redis: this room has no global set-up');
  return url;
}
