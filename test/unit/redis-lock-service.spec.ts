import { describe, expect, it } from '@jest/globals';
import { LockNotAcquiredError, LockQueueFullError, LockUnavailableError, RedisLockService } from 'nestjs-redis-lock';
import { lockDefaults, type ResolvedLockOptions } from '../../lib/core/options.js';
import type { LockConnection } from '../../lib/connection/lock.connection.js';

/** A service whose connection refuses every call, and the options of those calls. */
function refusing(error: Error) {
  const asked: ResolvedLockOptions[] = [];
  const acquire = async (_name: string, options: ResolvedLockOptions): Promise<never> => {
    asked.push(options);
    throw error;
  };
  const connection = { defaults: lockDefaults, acquire } as unknown as LockConnection;
  return { asked, locks: new RedisLockService(connection) };
}

describe('tryAcquire', () => {
  it('tries once without the option `wait`, with any default, and waits with it', async () => {
    const { asked, locks } = refusing(new LockNotAcquiredError('taken'));
    await locks.tryAcquire('a');
    await locks.tryAcquire('a', { lease: '5s' });
    await locks.tryAcquire('a', { wait: '2s' });
    expect(asked.map(({ wait }) => wait)).toEqual([0, 0, 2000]);
  });

  it('returns null for contention only: overload and outage are errors', async () => {
    await expect(refusing(new LockNotAcquiredError('taken')).locks.tryAcquire('a')).resolves.toBeNull();
    for (const error of [new LockQueueFullError('full'), new LockUnavailableError('away'), new Error('other')]) {
      await expect(refusing(error).locks.tryAcquire('a')).rejects.toBe(error);
    }
  });
});
