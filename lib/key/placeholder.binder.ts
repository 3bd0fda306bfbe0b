import type { LockConfigurationError } from '../errors/lock-errors.js';
import { suggestion } from '../errors/describe.js';
import { templateRefusals as refusals } from './key.messages.js';
import type { Parameter } from './method-shape.reader.js';
import { isPosition, type Placeholder } from './key-template.parser.js';

/** Where a call has the value of a placeholder: the argument at `index`, then down `path`. */
export interface Binding {
  readonly source: string;
  readonly index: number;
  readonly path: readonly string[];
}

/**
 * Finds the argument that a placeholder means.
 * @param parameters undefined when the method's source could not be read: only positions can be bound.
 * @throws LockConfigurationError naming the parameters that were found.
 */
export function bindPlaceholder(
  { source, root, path }: Placeholder,
  parameters: readonly Parameter[] | undefined,
): Binding {
  const index = isPosition(root) ? Number(root) : (parameters?.findIndex((parameter) => parameter.name === root) ?? -1);
  if (index === -1) throw unknownName(source, root, parameters);
  const rest = parameters?.at(-1)?.rest ? parameters.length - 1 : undefined;
  if (parameters && rest === undefined && index >= parameters.length) {
    throw refusals.outOfRange(source, count(parameters.length, 'parameter'));
  }
  if (index !== rest || isPosition(root)) return { source, index, path };
  const [first, ...further] = path;
  if (first === undefined || !isPosition(first)) throw refusals.restParameter(source, root);
  return { source, index: index + Number(first), path: further };
}

function unknownName(
  source: string,
  root: string,
  parameters: readonly Parameter[] | undefined,
): LockConfigurationError {
  if (!parameters) return refusals.unreadable(source);
  const names = parameters.map(({ name }) => name).filter((name) => name !== undefined);
  const found =
    parameters.map(({ name, rest }) => `${rest ? '...' : ''}${name ?? '(destructured)'}`).join(', ') || 'none';
  if (looksMinified(names) && !looksMinified([root])) return refusals.minified(source, found);
  const nearest = suggestion(root, names);
  return refusals.unknownName(source, found, nearest.startsWith('Did') ? ` ${nearest}` : '');
}

/** True when a minifier may have given these names: it begins with single letters, and parameters come first. */
export const looksMinified = (names: readonly string[]): boolean =>
  names.length > 0 && names.every((name) => name.length === 1);

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
