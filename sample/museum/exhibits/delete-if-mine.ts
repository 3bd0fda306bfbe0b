import type { Redis } from 'ioredis';

const script = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end`;

/** What the better hand-made locks release with: the key goes only if it still has the caller's value. */
export async function deleteIfMine(redis: Redis, key: string, value: string): Promise<void> {
  await redis.eval(script, 1, key, value);
}
