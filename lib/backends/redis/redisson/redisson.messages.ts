import { printable } from '../../../errors/describe.js';
import type { LockFinding } from '../../../diagnostics/lock-finding.js';
import { LockConfigurationError, LockKindMismatchError } from '../../../errors/lock-errors.js';

/** Locks in Redisson's format (option `redisson`). */
export const redissonRefusals = {
  /** RLock has one holder. Redisson's RReadWriteLock and RSemaphore have other formats, which this library does not share. */
  onlyExclusive: (key: string, kind: string) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: kind '${kind}' is not possible in Redisson's format (option redisson). Take an exclusive lock, or use a connection without redisson.`,
      { key },
    ),

  /** A read or write lock takes no notice of the holder of an RLock, and its release deletes it. */
  readWriteLock: (key: string) =>
    new LockKindMismatchError(
      `Lock ${printable(key)}: Redisson uses it as a read or write lock, which takes no notice of this lock. Give one of the two another name.`,
      { key },
    ),

  /** Threads that wait for a fair lock have an order, and are not woken by the release of an RLock. */
  fairLock: (key: string) =>
    new LockKindMismatchError(
      `Lock ${printable(key)}: threads of Java wait for it as a fair lock, and this library cannot take its place among them. Use getLock there, or another name here.`,
      { key },
    ),

  /**
   * A cluster, and a name with a `{` that begins no hash tag, or with a `}` alone: Redisson derives a channel from it that is in another slot
   * than the lock. Java cannot unlock such a lock either (CROSSSLOT).
   */
  loneBrace: (key: string) =>
    new LockConfigurationError(
      `Lock ${printable(key)}: in a cluster Redisson puts the channel of this name into another slot than the lock, because of its brace. Remove the brace, or write a hash tag: '{order:42}:pay'.`,
      { key },
    ),
} as const;

/** Findings of the doctor about tokens that are counted by Redisson's counters (`redisson.tokens: 'fenced'`). */
export const redissonFindings = {
  /**
   * Redis may lose the counters, as it may lose locks. Tokens of this library are made from the server's time instead, and go on. A warning,
   * also where the loss of locks alone is a remark.
   */
  lostCounters: (found: LockFinding): LockFinding => ({
    code: found.code,
    message: `${found.message} The counters of fencing tokens can be lost, too, and begin again at 1 then (redisson.tokens 'fenced'): a resource would take an old holder for the newest one. Or set tokens 'own'.`,
  }),
} as const;
