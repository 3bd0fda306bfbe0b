import { assertLockName, hasUnset, isUnfinished } from '../core/lock-key.js';
import { templateRefusals as refusals } from './key.messages.js';

/** One `#{root.path.to}` of a template. */
export interface Placeholder {
  /** As written, `#{order.product.id}`, for error messages. */
  readonly source: string;
  /** A parameter's name or, in digits, its position. */
  readonly root: string;
  readonly path: readonly string[];
}

/** `literals` has one more element than `placeholders`: text, value, text, value, …, text. */
interface ParsedTemplate {
  readonly source: string;
  readonly literals: readonly string[];
  readonly placeholders: readonly Placeholder[];
}

const position = /^(?:0|[1-9]\d{0,2})$/;
const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
const propertyName = /^[\p{ID_Continue}$\-\u200c\u200d]+$/u;

export const isPosition = (root: string): boolean => position.test(root);
export const isIdentifier = (name: string): boolean => identifier.test(name);

/**
 * Splits a key template into constant text and placeholders.
 * @throws LockConfigurationError for all mistakes that show without arguments.
 */
export function parseTemplate(source: string): ParsedTemplate {
  const literals: string[] = [];
  const placeholders: Placeholder[] = [];
  let from = 0;
  for (let open = source.indexOf('#{'); open !== -1; open = source.indexOf('#{', from)) {
    const close = source.indexOf('}', open);
    if (close === -1) throw refusals.unclosed(source.slice(open));
    literals.push(literal(source.slice(from, open)));
    placeholders.push(parsePlaceholder(source.slice(open, close + 1)));
    from = close + 1;
  }
  literals.push(literal(source.slice(from)));
  refuseAdjoining(literals, placeholders);
  // Constant text is a lock name, or a part of one.
  assertLockName(source);
  if (placeholders.length === 0 ? isUnfinished(source) : hasUnset(source)) throw refusals.unset(source);
  return { source, literals, placeholders };
}

function parsePlaceholder(source: string): Placeholder {
  const inner = source.slice(2, -1);
  if (inner === '') throw refusals.empty();
  const [root, ...path] = inner.split('.') as [string, ...string[]];
  if (!isPosition(root) && !isIdentifier(root)) throw refusals.noRoot(source);
  for (const name of path) {
    if (!propertyName.test(name)) throw refusals.noProperty(source, name);
  }
  for (const name of [root, ...path]) {
    // All objects have these, so they cannot tell arguments apart; '__proto__' would also leave the argument.
    if (name in Object.prototype) throw refusals.inherited(source, name);
  }
  return { source, root, path };
}

/** A brace in constant text is a forgotten '#' (or comes from another template language), and a '#' is a forgotten brace: one lock for all calls. */
function literal(text: string): string {
  const brace = text.search(/[{}]/);
  if (brace !== -1) throw refusals.strayBrace(text[brace]!);
  const hash = text.indexOf('#');
  if (hash !== -1)
    throw refusals.strayHash(/^[\p{ID_Continue}$.]*[\p{ID_Continue}$]/u.exec(text.slice(hash + 1))?.[0] ?? 'name');
  return text;
}

/**
 * With a ':' between any two values, and none inside an encoded one, a name can be read back in one way only. Otherwise ('a', 'bc') and
 * ('ab', 'c') would make the same name in `#{x}#{y}`, and ('a-b', 'c') and ('a', 'b-c') in `#{x}-#{y}`.
 */
function refuseAdjoining(literals: readonly string[], placeholders: readonly Placeholder[]): void {
  for (let index = 1; index < placeholders.length; index++) {
    if (!literals[index]!.includes(':'))
      throw refusals.adjoining(placeholders[index - 1]!.source, placeholders[index]!.source);
  }
}
