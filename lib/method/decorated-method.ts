import { decoratorRefusals as refusals } from './method.messages.js';

/** The second argument of a standard ECMAScript decorator, in place of the property. */
export interface StandardContext {
  readonly name: unknown;
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** `ProductService.buy`; a standard decorator does not know its class. */
export function describeMethod(target: object, property: string | symbol | StandardContext): string {
  if (typeof property === 'object') return String(property.name);
  return `${typeof target === 'function' ? target.name : target.constructor.name}.${String(property)}`;
}

/** The method that a decorator of ours is on. @throws LockConfigurationError in another place. */
export function decoratedMethod(
  target: object,
  property: string | symbol | StandardContext,
  descriptor: PropertyDescriptor | undefined,
): { readonly property: string | symbol; readonly descriptor: PropertyDescriptor; readonly original: Method } {
  if (typeof property === 'object') throw refusals.standardDecorator();
  const original: unknown = descriptor?.value;
  if (typeof target === 'function') throw refusals.staticMethod();
  if (!descriptor || typeof original !== 'function') throw refusals.noMethod();
  return { property, descriptor, original: original as Method };
}
