import { LockConfigurationError } from '../errors/lock-errors.js';
import { describe, printable } from './describe.js';

/** Longest lock name in bytes of UTF-8. */
export const longestName = 1024;

/**
 * A lock name is a non-empty well-formed string of at most 1 KB.
 * @throws LockConfigurationError for anything else: `undefined` must not become one lock for everybody.
 */
export function assertLockName(name: unknown): asserts name is string {
  if (typeof name !== 'string')
    throw new LockConfigurationError(`key: ${describe(name)} given; a lock name is a string.`);
  if (name === '') throw new LockConfigurationError('key: the lock name is empty.');
  // A UTF-16 unit takes at most three bytes: short names need no counting.
  if (name.length * 3 > longestName && Buffer.byteLength(name) > longestName) {
    throw new LockConfigurationError(
      `key: ${printable(name)} has ${Buffer.byteLength(name)} bytes, ${longestName} are allowed. Use a hash of it.`,
    );
  }
  // In every Node since 20; TypeScript's ES2023 library does not know it yet.
  if (!(name as unknown as { isWellFormed(): boolean }).isWellFormed()) {
    throw new LockConfigurationError(
      `key: ${printable(name)} holds half of a surrogate pair; different names would meet in one key.`,
    );
  }
}
