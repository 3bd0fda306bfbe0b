import { printable } from '../../../core/describe.js';
import { LockConfigurationError } from '../../../errors/lock-errors.js';

/** Locks in Redisson's format (option `redisson`). */
export const redissonRefusals = {
  /** RLock has one holder. Redisson's RReadWriteLock and RSemaphore have other formats, which this library does not share. */
  onlyExclusive: (key: string, kind: string) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: kind '${kind}' is not possible in Redisson's format (option redisson). Take an exclusive lock, or use a connection without redisson.`,
      { key },
    ),
} as const;
