import { type LockKey, assertLockKey, mostNamesOfLock } from '../core/lock-key.js';
import { inputRefusals } from '../errors/input.messages.js';
import { LockConfigurationError } from '../errors/lock-errors.js';
import { keyRefusals as refusals } from './key.messages.js';
import { compileTemplate } from './key-template.compiler.js';
import { isIdentifier } from './key-template.parser.js';
import type { MethodShape, Parameter } from './method-shape.reader.js';
import { looksMinified } from './placeholder.binder.js';

/**
 * Returns what a call locks.
 * @param instance the object on which a key function is called
 * @throws LockConfigurationError for arguments that make no name.
 */
export type KeyOfArguments = (args: readonly unknown[], instance?: unknown) => LockKey;

/**
 * Turns templates or a key function into a function from arguments to the lock's name, or names.
 * @param params the parameters' names, where the source has lost them.
 * @throws LockConfigurationError at once for a wrong key, and at the call for wrong arguments.
 */
export function compileKey(key: unknown, shape: MethodShape | undefined, params?: unknown): KeyOfArguments {
  const parameters = params === undefined ? shape?.parameters : namedParameters(params, shape?.parameters);
  const written = params === undefined ? writtenNames(shape) : (params as string[]);
  const isText = typeof key === 'string';
  if (isText || Array.isArray(key)) {
    const compiled = isText ? compileTemplate(key, parameters, written) : compileTemplates(key, parameters, written);
    // One lock for all calls: no placeholder uses what `params` names.
    if (Array.isArray(params) && params.length > 0 && !String(key).includes('#'))
      throw refusals.unusedParams(params[0] as string);
    return compiled;
  }
  if (typeof key === 'function') return (args, instance) => callKeyFunction(key as KeyFunction, args, instance);
  throw refusals.noKey(key);
}

/** None in a line that a minifier may have written: a name of one letter would be found in text that never meant it. */
function writtenNames(shape: MethodShape | undefined): string[] {
  const names = shape?.parameters.map(({ name }) => name).filter((name) => name !== undefined) ?? [];
  return shape?.isOneLine && looksMinified(names) ? [] : names;
}

function compileTemplates(
  templates: readonly unknown[],
  parameters: readonly Parameter[] | undefined,
  written: readonly string[],
): KeyOfArguments {
  if (templates.length === 0) throw inputRefusals.noNames();
  if (templates.length > mostNamesOfLock) throw inputRefusals.tooManyNames(templates.length, mostNamesOfLock);
  const names = templates.map((template) => {
    if (typeof template === 'string') return compileTemplate(template, parameters, written);
    throw refusals.noTemplate(template);
  });
  return (args) => names.map((name) => name(args));
}

type KeyFunction = (this: unknown, ...args: unknown[]) => unknown;

function callKeyFunction(key: KeyFunction, args: readonly unknown[], instance: unknown): LockKey {
  let name: unknown;
  try {
    name = key.apply(instance, args as unknown[]);
  } catch (cause) {
    if (cause instanceof LockConfigurationError) throw cause;
    throw refusals.throwing(cause);
  }
  assertLockKey(name);
  return name;
}

function namedParameters(params: unknown, found: readonly Parameter[] | undefined): Parameter[] {
  if (!Array.isArray(params) || !params.every((name) => typeof name === 'string' && isIdentifier(name)))
    throw refusals.noParams();
  const twice = params.find((name, index) => params.indexOf(name) !== index) as string | undefined;
  if (twice !== undefined) throw refusals.twice(twice);
  const hasRest = found?.at(-1)?.rest ?? true;
  if (found && params.length > found.length && !hasRest) throw refusals.tooMany(params.length, found.length);
  const named = params.map((name: string, index) => ({ name, rest: found?.[index]?.rest ?? false }));
  // A parameter without a name keeps its position. Without a source, any position may exist.
  return [
    ...named,
    ...(found?.slice(params.length).map(({ rest }) => ({ name: undefined, rest })) ?? [
      { name: undefined, rest: true },
    ]),
  ];
}
