import { describe, suggestion } from './describe.js';
import { inputRefusals } from './input.messages.js';

/** @throws LockConfigurationError unless it is a whole number, and large enough. */
export function wholeNumber(option: string, value: unknown, min: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
  throw inputRefusals.noWholeNumber(option, value, min);
}

/**
 * A plain copy of an options object, each property read once, with unknown names refused.
 * @throws LockConfigurationError for anything but an object and for a name that is not in `known`.
 */
export function readOptions<const K extends string>(
  what: string,
  options: unknown,
  known: readonly K[],
): { [P in K]?: unknown } {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw inputRefusals.noObject(what, options);
  }
  const copy: { [P in K]?: unknown } = {};
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      throw inputRefusals.unknownOption(what, name, translation(name, known) ?? suggestion(name, known));
    }
    copy[name as K] = (options as Record<string, unknown>)[name];
  }
  if (isPlain(options)) return copy;
  // A class has its getters in its prototype.
  for (const name of known)
    if (name in options && !Object.hasOwn(options, name)) copy[name] = Reflect.get(options, name);
  return copy;
}

/** In any realm. */
export const isPlain = (given: object): boolean => {
  const prototype = Object.getPrototypeOf(given) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** What other lock libraries, in small letters, call an option. */
const elsewhere: ReadonlyArray<readonly [names: RegExp, advice: string, option: string]> = [
  [/^(ttl|leasetime|locktime|locktimeout|duration|expir\w*|expires?in|maxage)$/, 'Write lease.', 'lease'],
  [/^(timeout|waittime|waittimeout|acquire(ment)?timeout|maxwait|blocktimeout)$/, 'Write wait.', 'wait'],
  [/^poll$/, 'Leave it out; each waiter asks by itself every 5 s.', 'commandTimeout'],
  [
    /^(retr(y|ies)\w*|maxretries|attempts|poll\w*|driftfactor)$/,
    'Write wait; a call waits in line instead of trying again.',
    'wait',
  ],
  [/^(name|resources?|lockkey|lockname|id|prefix)$/, 'Write key.', 'key'],
  [
    /^(url|uri|host|hostname|port|password|username|db|socket|client|clients|connection|config|node)$/,
    'Write redis: url, or redis: { host, port, … }.',
    'redis',
  ],
  [/^(nodes|rootnodes)$/, 'Write cluster: { nodes }, or quorum: { nodes }.', 'quorum'],
];

function translation(name: string, known: readonly string[]): string | undefined {
  return elsewhere.find(([names, , option]) => known.includes(option) && names.test(name.toLowerCase()))?.[1];
}

/** @throws LockConfigurationError unless `value` is one of `choices`. */
export function oneOf<const T>(option: string, value: unknown, choices: readonly T[]): T {
  if (choices.includes(value as T)) return value as T;
  throw inputRefusals.noChoice(option, value, choices.map((choice) => describe(choice)).join(' or '));
}

/** @throws LockConfigurationError */
export function abortSignal(value: unknown): AbortSignal {
  if (value instanceof AbortSignal) return value;
  throw inputRefusals.noSignal(value);
}

/** A text for people. Half a character, where text was cut, is replaced. @throws LockConfigurationError */
export function shortText(option: string, value: unknown, longest: number): string {
  if (typeof value !== 'string' || value === '' || value.length > longest)
    throw inputRefusals.noText(option, value, longest);
  return (value as unknown as { toWellFormed(): string }).toWellFormed();
}
