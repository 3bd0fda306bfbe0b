import { wrong } from './configuration.js';
import { describe, kindOf, nameOf, printable } from './describe.js';

/** Lock names and options of a module, a method or a call. They are refused at once, before a command. The messages begin with the call. */
export const inputRefusals = {
  /** `undefined` must not become one lock for all. */
  noName: (given: unknown) =>
    wrong(
      `key: ${describe(given)} given; a lock name is a string, such as 'product:42'. Check the values that it is made of.`,
    ),

  /** The empty string. */
  emptyName: () => wrong("key: the lock name is empty; name what is locked, such as 'product:42'."),

  /** Longer than 1 KB. */
  longName: (key: string, bytes: number, allowed: number) =>
    wrong(`key: ${printable(key)} has ${bytes} bytes, ${allowed} are allowed. Use a hash of it.`),

  /** Text that was cut in the middle of a character. */
  halfPair: (key: string) =>
    wrong(
      `key: ${printable(key)} holds half of a surrogate pair; different names would meet in one key. Cut text between characters.`,
    ),

  /** `product:#{id}` in a call, or returned by a key function: one lock for all. */
  template: (key: string) =>
    wrong(
      `key: ${printable(key)} is a template, and only @DistributedLock fills it in; write lockName\`product:\${id}\`.`,
    ),

  /** `'product:${id}'` in quotes: it would be one lock for all calls. */
  quotedTemplate: (key: string) =>
    wrong(
      `key: ${printable(key)} is in quotes, so it is this text in all calls; write lockName\`product:\${id}\`, with backticks.`,
    ),

  /** `product:undefined`, `product:[object Object]`, `product:`: a value was not set. All such calls would share one lock. */
  unset: (key: string) =>
    wrong(
      `key: a value in ${printable(key)} is not set, or is an object or a function: all such calls would share one lock. Check the value, or let lockName\`product:\${id}\` do it.`,
    ),

  /** `key: []`, or a key function that found nothing to lock: running unlocked would be wrong. */
  noNames: () => wrong('key: the list of lock names is empty; name at least one, or do not lock.'),

  /** More names than one lock takes. */
  tooManyNames: (names: number, allowed: number) =>
    wrong(
      `key: ${names} lock names given, ${allowed} are allowed. Lock something that stands for all of them, or take them in steps: https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/how-to/several-keys.md#more-names-than-one-call-takes`,
    ),

  /** A value that is no object in place of options. */
  noObject: (what: string, given: unknown) =>
    // A URL in place of the options may contain a password.
    wrong(`${what}: ${kindOf(given)} given, an object expected.`),

  /** A misspelt or unknown option. */
  unknownOption: (what: string, name: string, suggestion: string) =>
    wrong(`${what}: there is no option ${nameOf(name)}. ${suggestion}`),

  /** A value outside of a fixed set. */
  noChoice: (option: string, given: unknown, choices: string) =>
    wrong(`${option}: ${describe(given)} given; write ${choices}.`),

  /** `NaN`, a fraction, a negative number, a text that `ms` cannot read, more than 24.8 days. */
  noDuration: (option: string, given: unknown, min: number, max: number, orInfinity: string) =>
    wrong(
      `${option}: ${describe(given)} is not a duration; write whole milliseconds from ${min} to ${max}${orInfinity} or a string such as '30s'.`,
    ),

  /** Digits in a string, as from the environment: seconds or milliseconds? */
  noUnit: (option: string, given: string) =>
    wrong(
      `${option}: ${describe(given)} has no unit; write seconds as '10s', milliseconds as '10ms' or as the number 10.`,
    ),

  /** A fraction, a number that is too small, or another type. */
  noWholeNumber: (option: string, given: unknown, least: number) =>
    wrong(`${option}: ${describe(given)} given, a whole number from ${least} expected.`),

  /** `shared` and `limit` at once. */
  sharedPermits: () =>
    wrong(
      'shared: cannot be combined with limit; a lock is either shared by any number of readers, or has permits. Remove one of the two.',
    ),

  /** `permits` alone. */
  permitsWithoutLimit: () => wrong('permits: needs limit; say how many permits there are in all, such as limit: 10.'),

  /** More permits at once than there are in all. */
  tooManyPermits: (permits: number, limit: number) =>
    wrong(`permits: ${permits} given, there are ${limit} in all (option limit). Request fewer, or raise limit.`),

  /** Work that is longer than the lease would free the lock before `minHold` is over. */
  leaseWithinMinHold: (minHold: number, lease: number) =>
    wrong(
      `minHold: ${minHold} ms given, and the lease of ${lease} ms is not renewed: work that is longer would free the lock too soon. Give a longer lease, or renew: true.`,
    ),

  /** The empty string, a longer text, or another type. */
  noText: (option: string, given: unknown, longest: number) =>
    wrong(`${option}: ${describe(given)} given, a text of 1 to ${longest} characters expected.`),

  /** `const { release } = lock`, or `lock.release` as a callback. The lock is still held. */
  detached: (method: string) =>
    wrong(
      `${method} was called without its lock, so nothing was done. Write lock.${method}(), and () => lock.${method}() where a function is expected.`,
    ),

  /** An AbortController, or a signal of another library. */
  noSignal: (given: unknown) => wrong(`signal: ${describe(given)} given, an AbortSignal expected.`),
} as const;
