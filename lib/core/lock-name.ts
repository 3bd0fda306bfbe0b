import { inputRefusals } from './refusals.js';

/** Longest lock name in bytes of UTF-8. */
export const longestName = 1024;

/**
 * A lock name is a non-empty well-formed string of at most 1 KB.
 * @throws LockConfigurationError for anything else: `undefined` must not become one lock for everybody.
 */
export function assertLockName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw inputRefusals.noName(name);
  if (name === '') throw inputRefusals.emptyName();
  // A UTF-16 unit takes at most three bytes: short names need no counting.
  if (name.length * 3 > longestName && Buffer.byteLength(name) > longestName) {
    throw inputRefusals.longName(name, Buffer.byteLength(name), longestName);
  }
  // In every Node since 20; TypeScript's ES2023 library does not know it yet.
  if (!(name as unknown as { isWellFormed(): boolean }).isWellFormed()) throw inputRefusals.halfPair(name);
}
