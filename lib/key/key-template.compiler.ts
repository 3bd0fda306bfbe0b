import { describe } from '../core/describe.js';
import { assertLockName } from '../core/lock-key.js';
import type { Parameter } from './method-shape.reader.js';
import { templateRefusals as refusals } from './key.messages.js';
import { encodePart, partProblem } from './key-part.encoder.js';
import { parseTemplate } from './key-template.parser.js';
import { type Binding, bindPlaceholder } from './placeholder.binder.js';

/** Builds the lock name from the arguments of a call. @throws LockConfigurationError */
export type KeyOfArguments = (args: readonly unknown[]) => string;

/**
 * Compiles a template once; a call then only reads, encodes and joins.
 * @param parameters of the method, where its source could be read.
 * @throws LockConfigurationError for all mistakes that show without arguments.
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
  const encoded = encodePart(value);
  if (encoded === undefined) throw refusals.noPart(binding.source, template, partProblem(value));
  return encoded;
}

function read(template: string, { source, index, path }: Binding, args: readonly unknown[]): unknown {
  let value = args[index];
  let done = 0;
  try {
    for (; done < path.length; done++) {
      const name = path[done]!;
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) break;
      value = (value as Record<string, unknown>)[name];
    }
  } catch (cause) {
    throw refusals.throwing(source, template, path[done]!, cause);
  }
  if (done === path.length) return value;
  const owner = [`argument ${index}`, ...path.slice(0, done)].join('.');
  const owned =
    typeof value === 'object' && value !== null ? `has no own property '${path[done]}'` : `is ${describe(value)}`;
  throw refusals.missing(source, template, owner, owned);
}
