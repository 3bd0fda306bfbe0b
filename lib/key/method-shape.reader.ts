import {
  type ClassExpression,
  type Function as FunctionNode,
  type MemberExpression,
  type MethodDefinition,
  type Pattern,
  parseExpressionAt,
} from 'acorn';

/** A parameter in the source; a destructured one has no name. */
export interface Parameter {
  readonly name: string | undefined;
  readonly rest: boolean;
}

export type MethodForm = 'plain' | 'async' | 'generator' | 'async generator';

/** What the source of a method says, before decorators replaced the method. */
export interface MethodShape {
  readonly parameters: readonly Parameter[];
  readonly form: MethodForm;
  /** True when it mentions the method of the same name of its base class: `super.buy(…)`. */
  readonly callsSuper: boolean;
  /** True when the source is one line, as a minifier writes it: the parameters may have other names than the author gave. */
  readonly isOneLine: boolean;
}

const shapesOf = new WeakMap<object, ReadonlyMap<string, MethodShape>>();

/**
 * The shape of a method, from the source of its class (parsed once), so that a decorator below that replaced the method is no obstacle.
 * Computed and symbol names are not found there; then the function's own source is read.
 * @returns undefined when neither source can be read.
 */
export function readMethodShape(type: object, property: string | symbol, method: unknown): MethodShape | undefined {
  let shapes = shapesOf.get(type);
  if (!shapes) shapesOf.set(type, (shapes = readClass(type)));
  return (typeof property === 'string' ? shapes.get(property) : undefined) ?? readFunction(method);
}

function readClass(type: object): ReadonlyMap<string, MethodShape> {
  const shapes = new Map<string, MethodShape>();
  const source = sourceOf(type);
  const node = parse(source) as ClassExpression | undefined;
  if (node?.type !== 'ClassExpression') return shapes;
  for (const member of node.body.body) {
    if (member.type !== 'MethodDefinition' || member.static || member.kind !== 'method') continue;
    const name = nameOf(member);
    // The last of two methods with one name counts, as in the class itself.
    if (name === undefined) continue;
    const callsSuper = Boolean(node.superClass) && mentionsSuper(member.value, name);
    shapes.set(name, { ...shapeOf(member.value, source), callsSuper });
  }
  return shapes;
}

function readFunction(method: unknown): MethodShape | undefined {
  const source = sourceOf(method);
  // The source of a method is not an expression; the source of a method inside an object literal is.
  const node = parse(source) ?? parse(`{${source}}`);
  if (node?.type === 'FunctionExpression' || node?.type === 'ArrowFunctionExpression') return shapeOf(node, source);
  const member = node?.type === 'ObjectExpression' ? node.properties[0] : undefined;
  return member?.type === 'Property' && member.value.type === 'FunctionExpression'
    ? shapeOf(member.value, source)
    : undefined;
}

function sourceOf(value: unknown): string {
  return typeof value === 'function' ? Function.prototype.toString.call(value) : '';
}

function parse(source: string) {
  try {
    const expression = parseExpressionAt(`(${source})`, 0, {
      ecmaVersion: 'latest',
      sourceType: 'module',
      allowSuperOutsideMethod: true,
      // A class may use private names of an enclosing class.
      checkPrivateFields: false,
    });
    return expression;
  } catch {
    return undefined;
  }
}

function nameOf({ key, computed }: MethodDefinition): string | undefined {
  if (key.type === 'Literal') return String(key.value);
  return key.type === 'Identifier' && !computed ? key.name : undefined;
}

function shapeOf(node: FunctionNode, source: string): MethodShape {
  const form = node.async ? (node.generator ? 'async generator' : 'async') : node.generator ? 'generator' : 'plain';
  return { parameters: node.params.map(parameterOf), form, callsSuper: false, isOneLine: !source.includes('\n') };
}

function mentionsSuper(node: unknown, method: string): boolean {
  if (typeof node !== 'object' || node === null) return false;
  const { type, object, property } = node as MemberExpression;
  if (type === 'MemberExpression' && object.type === 'Super') {
    if (
      property.type === 'Identifier'
        ? property.name === method
        : property.type === 'Literal' && property.value === method
    )
      return true;
  }
  return Object.values(node).some((child) => mentionsSuper(child, method));
}

function parameterOf(pattern: Pattern): Parameter {
  if (pattern.type === 'RestElement') return { ...parameterOf(pattern.argument), rest: true };
  if (pattern.type === 'AssignmentPattern') return parameterOf(pattern.left);
  return { name: pattern.type === 'Identifier' ? pattern.name : undefined, rest: false };
}
