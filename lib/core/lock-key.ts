import { assertLockName } from './lock-name.js';
import { inputRefusals } from './refusals.js';

/** What is locked: a name such as `product:42` (a non-empty string of at most 1 KB), or several: then all of them or none. */
export type LockKey = string | readonly string[];

/** Names of one lock: what travels to the backend in one command. */
export const mostNames = 64;

/**
 * The names of a key of several, without repetitions, in the order in which they are taken everywhere.
 * @throws LockConfigurationError for none, too many, or what is no name.
 */
export function namesOf(key: readonly unknown[]): readonly string[] {
  const names = new Set<string>();
  for (const name of key) {
    assertLockName(name);
    names.add(name);
  }
  if (names.size === 0) throw inputRefusals.noNames();
  if (names.size > mostNames) throw inputRefusals.tooManyNames(names.size, mostNames);
  // By code units: the same in every process, whatever its language.
  return [...names].sort();
}

/** @throws LockConfigurationError for anything but a name or a list of names. */
export function assertLockKey(key: unknown): asserts key is LockKey {
  if (Array.isArray(key)) namesOf(key);
  else assertLockName(key);
}
