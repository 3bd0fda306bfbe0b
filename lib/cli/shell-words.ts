import type { LockLog } from '../core/lock-log.js';
import { type Arguments, placeOf } from './arguments.js';
import { say } from './output.js';

/** What messages of the library call options in code. */
const words: Record<string, string> = {
  wait: '--wait',
  lease: '--lease',
  minHold: '--min-hold',
  maxHold: '--max-hold',
  limit: '--limit',
  shared: '--shared',
  label: '--label',
  startsWith: '--starts-with',
  redisson: '--redisson',
  key: 'NAME',
  commandTimeout: '--timeout',
  'quorum.nodeTimeout': '--timeout',
};
/** In an options file they have their own names. */
const wordsOfPlace = (given: Arguments): Record<string, string> => ({
  keyPrefix: '--prefix',
  'quorum.nodes': '--quorum',
  'cluster.nodes': '--cluster',
  redis: placeOf(given),
});

/** A message of the library, with the options as they are written on the command line, and without the function that called it. */
export function inShellWords(message: string, given: Arguments | undefined): string {
  const known = given && given.options['config'] === undefined ? { ...words, ...wordsOfPlace(given) } : words;
  return message
    .replace(/^[A-Z]\w*\.\w+(?: '[^']*')?: /, '')
    .replaceAll(/\boption ([\w.]+\w)/g, (text, name: string) => known[name] ?? text)
    .replace(/^([\w.]+)(?=: )/, (name) => known[name] ?? name);
}

/** Warnings are lines on standard error, such as the loss of a lock with the person and the reason. */
export function logInShellWords(given: Arguments): LockLog {
  const tell = (message: string): void => say(inShellWords(message, given));
  return { log() {}, warn: tell, error: tell };
}
