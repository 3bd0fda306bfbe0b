import { LockConfigurationError } from '../errors/lock-errors.js';
import { suggestion } from '../core/options.js';
import type { Parameter } from './method-shape.reader.js';
import { isPosition, type Placeholder } from './key-template.parser.js';

/** Where a placeholder's value is found at a call: the argument at `index`, then down `path`. */
export interface Binding {
  readonly source: string;
  readonly index: number;
  readonly path: readonly string[];
}

/**
 * Finds the argument that a placeholder means.
 * @param parameters undefined: the method's source could not be read, only positions can be bound.
 * @throws LockConfigurationError naming the parameters that were found.
 */
export function bindPlaceholder(
  { source, root, path }: Placeholder,
  parameters: readonly Parameter[] | undefined,
): Binding {
  const index = isPosition(root) ? Number(root) : (parameters?.findIndex((parameter) => parameter.name === root) ?? -1);
  if (index === -1) throw new LockConfigurationError(unknownName(source, root, parameters));
  const rest = parameters?.at(-1)?.rest ? parameters.length - 1 : undefined;
  if (parameters && rest === undefined && index >= parameters.length) {
    throw new LockConfigurationError(
      `'${source}' is out of range: the method has ${count(parameters.length, 'parameter')}.`,
    );
  }
  if (index !== rest || isPosition(root)) return { source, index, path };
  const [first, ...further] = path;
  if (first === undefined || !isPosition(first)) {
    throw new LockConfigurationError(
      `'${source}' is a rest parameter, an array; write #{${root}.0} for its first value.`,
    );
  }
  return { source, index: index + Number(first), path: further };
}

function unknownName(source: string, root: string, parameters: readonly Parameter[] | undefined): string {
  const remedy = "Or write its position, such as #{0}, give a key function, or name the parameters: params: ['id', …].";
  if (!parameters)
    return `'${source}': the method's source cannot be read, so parameters have no names here. ${remedy}`;
  const names = parameters.map(({ name }) => name).filter((name) => name !== undefined);
  const found =
    parameters.map(({ name, rest }) => `${rest ? '...' : ''}${name ?? '(destructured)'}`).join(', ') || 'none';
  const nearest = suggestion(root, names);
  return `'${source}' names no parameter of the method. Found: ${found}.${nearest.startsWith('Did') ? ` ${nearest}` : ''} ${remedy}`;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
