import { byteLength } from '../diagnostics/platform.js';
import { inputRefusals } from '../errors/input.messages.js';

/** What to lock: a name such as `product:42` (a non-empty string of at most 1 KB), or several names: all of them or none. */
export type LockKey = string | readonly string[];

/**
 * A name, unless it is a template string with values, written in the call: as soon as a value needs encoding, the decorator makes another
 * name of it. A variable of the type `string` passes: its name may have come from anywhere.
 */
export type NameIn<K extends string> = K extends unknown
  ? // The type of `randomUUID()`, which needs no encoding. As a part of a longer text it is no different from others.
    `${string}-${string}-${string}-${string}-${string}` extends K
    ? K
    : // A branded string.
      K extends object
      ? K
      : Record<never, never> extends Record<K, 1>
        ? 'a template string does not encode its values: write lockName in front of it'
        : K
  : never;

/** Most names of one lock: they are renewed by one command. */
export const mostNamesOfLock = 250;

/**
 * The names of a list, without duplicates, in the one order in which all processes take them.
 * @throws LockConfigurationError for none, too many, or an invalid name.
 */
export function namesOf(key: readonly unknown[]): readonly string[] {
  const names = new Set<string>();
  for (const name of key) {
    assertLockName(name);
    names.add(name);
  }
  if (names.size === 0) throw inputRefusals.noNames();
  if (names.size > mostNamesOfLock) throw inputRefusals.tooManyNames(names.size, mostNamesOfLock);
  // By code units: the same in each process, independent of its locale.
  return [...names].sort();
}

/** @throws LockConfigurationError for anything but a name or a list of names, and for a text whose values were not filled in. */
export function assertLockKey(key: unknown): asserts key is LockKey {
  if (Array.isArray(key)) for (const name of namesOf(key)) refuseUnfilled(name);
  else {
    assertLockName(key);
    refuseUnfilled(key);
  }
}

function refuseUnfilled(name: string): void {
  refuseTemplate(name);
  if (isUnfinished(name) && !meantNames.has(name)) throw inputRefusals.unset(name);
}

/** A name of a call that takes nothing: a person may have to look at, or release, what another version took. @throws LockConfigurationError */
export function assertWrittenName(name: unknown): asserts name is string {
  assertLockName(name);
  refuseTemplate(name);
}

/** `product:#{id}`, and `product:${id}` in quotes, would be one lock for all calls. */
function refuseTemplate(name: string): void {
  if (!name.includes('{')) return;
  if (/#\{[\p{ID_Continue}$.-]+\}/u.test(name)) throw inputRefusals.template(name);
  if (/\$\{[^{}]+\}/.test(name)) throw inputRefusals.quotedTemplate(name);
}

/** What a plain text makes of a value that is not set, of an object, and of a function that was not called: the same for all calls. */
const unset = /(?<![^:/{])(?:undefined|null|NaN)(?![^:/}])|\[object \w+\]|=>|\) ?\{/;

/** True for a text in which a value was not set, most likely. */
export const hasUnset = (text: string): boolean => unset.test(text);

/** The same for a name, in which a value may be empty, too. */
export const isUnfinished = (name: string): boolean => name.endsWith(':') || hasUnset(name);

/** Names in which `undefined` is the text of a value, as `lockName` knows: the last thousand. They are passed on at once. */
const meantNames = new Set<string>();

/** `lockName` has made this name of values that it has checked. */
export function knowMeant(name: string): void {
  if (!isUnfinished(name)) return;
  meantNames.add(name);
  for (const oldest of meantNames) {
    if (meantNames.size <= 1000) return;
    meantNames.delete(oldest);
  }
}

/** Longest lock name in bytes of UTF-8. */
const longestName = 1024;

/**
 * A lock name is a non-empty well-formed string of at most 1 KB.
 * @throws LockConfigurationError for anything else: `undefined` must not become one lock for all.
 */
export function assertLockName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw inputRefusals.noName(name);
  if (name === '') throw inputRefusals.emptyName();
  // A UTF-16 unit takes at most three bytes: short names need no counting.
  if (name.length * 3 > longestName && byteLength(name) > longestName) {
    throw inputRefusals.longName(name, byteLength(name), longestName);
  }
  // In Node since 20; TypeScript's ES2023 library does not have it yet.
  if (!(name as unknown as { isWellFormed(): boolean }).isWellFormed()) throw inputRefusals.halfPair(name);
}
