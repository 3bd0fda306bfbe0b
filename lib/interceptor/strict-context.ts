import type { ExecutionContext } from '@nestjs/common';
import { interceptorRefusals as refusals } from './interceptor.messages.js';

/**
 * The context as a key function gets it: whoever takes it for the method's first argument, and puts it into a string or reads a
 * property that it does not have, learns so, instead of locking one name for all requests.
 */
export function strictContext(context: ExecutionContext): ExecutionContext {
  return new Proxy(context, {
    get(target, property) {
      if (!(property in target)) throw refusals.noArgument(nameOf(property));
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A symbol is asked for by whoever makes a string of it. */
const nameOf = (property: string | symbol): string =>
  typeof property === 'symbol' ? 'text' : `property '${property}'`;
