import { located } from '../../errors/configuration.js';
import { placeRefusals as refusals } from './decorator.messages.js';

/** The second argument of a standard ECMAScript decorator, in place of the property. */
export interface StandardContext {
  readonly name: unknown;
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** `ProductService.buy`, or `ProductService`; a standard decorator does not know the class of a member. */
export function describeMethod(target: object, property: string | symbol | StandardContext | undefined): string {
  if (typeof property === 'object') return String(property.name);
  const type = typeof target === 'function' ? target.name : target.constructor.name;
  return property === undefined ? type : `${type}.${String(property)}`;
}

/** The method that a decorator of ours is on. @throws LockConfigurationError in another place. */
export function decoratedMethod(
  target: object,
  property: string | symbol | StandardContext,
  descriptor: PropertyDescriptor | undefined,
): { readonly property: string | symbol; readonly descriptor: PropertyDescriptor; readonly original: Method } {
  if (typeof property === 'object') throw refusals.standardDecorator();
  const original: unknown = descriptor?.value;
  if (!descriptor || typeof original !== 'function') throw refusals.noMethod();
  if (typeof target === 'function') throw refusals.staticMethod();
  return { property, descriptor, original: original as Method };
}

/**
 * Refuses a decorator that was applied without being called, as `@DistributedLock`. Compilers pass the class; or the object, the property and a
 * third argument; or, to a standard decorator, the value and its context.
 * @param given the arguments of the function that makes the decorator, which takes two at most, and no class
 * @throws LockConfigurationError
 */
export function refuseUncalled(decorator: string, example: string, given: readonly unknown[]): void {
  const [target, property] = given;
  if (given.length < 3 && !isClass(target) && !isStandardContext(property)) return;
  // A standard decorator of a property gets no value.
  const where = describeMethod(Object(target) as object, property as string | symbol | StandardContext | undefined);
  located(`${decorator} on ${where}`, () => {
    throw refusals.uncalled(example);
  });
}

const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

const isStandardContext = (value: unknown): value is StandardContext =>
  typeof value === 'object' && value !== null && 'kind' in value && 'name' in value;
