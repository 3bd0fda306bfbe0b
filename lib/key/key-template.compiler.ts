import { describe } from '../errors/describe.js';
import { assertLockName } from '../core/lock-key.js';
import { knowTemplate } from '../diagnostics/name-kind.js';
import type { Parameter } from './method-shape.reader.js';
import { templateRefusals as refusals } from './key.messages.js';
import { encodePart, partProblem } from './key-part.encoder.js';
import { parseTemplate } from './key-template.parser.js';
import { type Binding, bindPlaceholder } from './placeholder.binder.js';

/** Builds the lock name from the arguments of a call. @throws LockConfigurationError */
type NameOfArguments = (args: readonly unknown[]) => string;

/**
 * Compiles a template once; a call then only reads, encodes and joins.
 * @param parameters of the method, where its source could be read.
 * @param written the names that the author gave to parameters, where these are known.
 * @throws LockConfigurationError for all mistakes that show without arguments.
 */
export function compileTemplate(
  template: string,
  parameters: readonly Parameter[] | undefined,
  written: readonly string[] = [],
): NameOfArguments {
  const { literals, placeholders } = parseTemplate(template);
  refuseParametersInText(
    literals,
    written.filter((name) => !placeholders.some(({ root }) => root === name)),
  );
  for (const text of literals) refuseArgumentsInText(text, parameters?.length ?? 0);
  const bindings = placeholders.map((placeholder) => bindPlaceholder(placeholder, parameters));
  knowTemplate(template, literals);
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

/** A name as other libraries mark it, with a path: `$order.id`, `@id`, `%id%`, `<id>`, `[id]`. */
const marked =
  /(?<=(?<mark>[$@%<[]))(?<name>[\p{ID_Start}_][\p{ID_Continue}$]*)(?![-\p{ID_Continue}$])(?<path>(?:\.[\p{ID_Continue}$]+)*)/gu;
/** A name as routes mark it: `:id`, alone between its separators. */
const inRoute = /(?<=(?<mark>:))(?<name>[\p{ID_Start}_$][\p{ID_Continue}$]*)(?![-.\p{ID_Continue}$])(?<path>)/gu;
/** All of the text. */
const bare = /^(?<mark>)(?<name>[\p{ID_Start}_$][\p{ID_Continue}$]*)(?<path>(?:\.[\p{ID_Continue}$]+)*)$/gu;

/**
 * Refuses text that looks like the value of a parameter in another notation.
 * @param names of the parameters that the template does not read: in `user:id:#{id}` the text says what follows.
 */
function refuseParametersInText(literals: readonly string[], names: readonly string[]): void {
  if (names.length === 0) return;
  for (const text of literals) {
    for (const pattern of literals.length === 1 ? [marked, inRoute, bare] : [marked, inRoute]) {
      for (const { groups } of text.matchAll(pattern)) {
        const { mark, name, path } = groups as { mark: string; name: string; path: string };
        if (names.includes(name)) throw refusals.parameterAsText(`${mark}${name}${path}`, `#{${name}${path}}`);
      }
    }
  }
}

/** An argument as other libraries write it: `args[0]`, `args.0`, `$0`, `%s`; and a field: `this.id`. */
const argument =
  /(?<![\p{ID_Continue}$.])(?:(?:args|arguments)(?:\[(?<index>\d+)\]|\.(?<dotted>\d+))|\$(?<dollar>\d)(?![\p{ID_Continue}$.])|%[sdj](?!\p{ID_Continue})|(?<field>this\.[\p{ID_Start}$_][\p{ID_Continue}$.]*))/gu;

/** @param count how many parameters the method has: `$9` of two is a price. */
function refuseArgumentsInText(text: string, count: number): void {
  for (const { 0: found, groups } of text.matchAll(argument)) {
    const { index, dotted, dollar, field } = groups as Record<string, string | undefined>;
    if (field !== undefined) throw refusals.fieldAsText(field);
    if (dollar !== undefined && Number(dollar) > count) continue;
    throw refusals.argumentAsText(found, `#{${index ?? dotted ?? (dollar === '0' ? '0' : 'name')}}`);
  }
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
