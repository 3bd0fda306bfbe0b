import { LockConfigurationError } from '../errors/lock-errors.js';
import { describe, printable } from '../core/describe.js';
import { assertLockName } from '../core/lock-name.js';
import type { Parameter } from './method-shape.reader.js';
import { encodePart, partProblem } from './key-part.encoder.js';
import { parseTemplate } from './key-template.parser.js';
import { type Binding, bindPlaceholder } from './placeholder.binder.js';

/** Makes the lock name from the arguments of a call. @throws LockConfigurationError */
export type KeyOfArguments = (args: readonly unknown[]) => string;

/**
 * Compiles a template once; a call then only reads, encodes and joins.
 * @param parameters of the method, where its source could be read.
 * @throws LockConfigurationError for everything that can be known without arguments.
 */
export function compileTemplate(template: string, parameters: readonly Parameter[] | undefined): KeyOfArguments {
  const { literals, placeholders } = parseTemplate(template);
  const bindings = placeholders.map((placeholder) => bindPlaceholder(placeholder, parameters));
  if (bindings.length === 0) return () => template;
  return (args) => {
    let name = literals[0]!;
    for (let index = 0; index < bindings.length; index++) {
      name += part(template, bindings[index]!, args) + literals[index + 1]!;
    }
    assertLockName(name);
    return name;
  };
}

function part(template: string, binding: Binding, args: readonly unknown[]): string {
  const value = read(template, binding, args);
  return encodePart(value) ?? refuse(template, binding, `${partProblem(value)}; ${accepted}`);
}

const accepted = 'a key takes non-empty strings, safe integers and bigints';

function read(template: string, binding: Binding, args: readonly unknown[]): unknown {
  let value = args[binding.index];
  let done = 0;
  try {
    for (; done < binding.path.length; done++) {
      const name = binding.path[done]!;
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) break;
      value = (value as Record<string, unknown>)[name];
    }
  } catch (cause) {
    refuse(template, binding, `cannot be read: '${binding.path[done]}' throws`, cause);
  }
  if (done === binding.path.length) return value;
  const owner = [`argument ${binding.index}`, ...binding.path.slice(0, done)].join('.');
  const owned =
    typeof value === 'object' && value !== null
      ? `has no own property '${binding.path[done]}'`
      : `is ${describe(value)}`;
  return refuse(template, binding, `is missing: ${owner} ${owned}`);
}

function refuse(template: string, { source }: Binding, problem: string, cause?: unknown): never {
  throw new LockConfigurationError(`${source} in ${printable(template)} ${problem}.`, { cause });
}
