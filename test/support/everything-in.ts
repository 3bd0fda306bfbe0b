import { expect } from '@jest/globals';
import { inspect } from 'node:util';

/** Everything that tools can find in a value, as text by the way in which they find it. */
export function everythingIn(value: unknown): Record<string, string> {
  return {
    JSON: JSON.stringify(value) ?? 'undefined',
    inspect: inspect(value, all),
    structuredClone: cloned(value),
    properties: walked(value),
    toBe: refusalOf(() => expect(value).toBe('something else')),
    toEqual: refusalOf(() => expect(value).toEqual({ something: 'else' })),
  };
}

const all = {
  depth: Number.POSITIVE_INFINITY,
  showHidden: true,
  getters: true,
  maxArrayLength: null,
  maxStringLength: null,
};

/** What jest prints of a value in a failed assertion. */
function refusalOf(assertion: () => void): string {
  try {
    assertion();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the assertion has not failed');
}

function cloned(value: unknown): string {
  try {
    return inspect(structuredClone(value), all);
  } catch (error) {
    // A function, or a signal: it cannot be cloned.
    if (error instanceof DOMException && error.name === 'DataCloneError') return '';
    throw error;
  }
}

/** All own properties, symbols and hidden ones too, the getters of prototypes, and what collections hold; each object once. */
function walked(root: unknown): string {
  const found: string[] = [];
  const seen = new Set<object>();
  const queue: unknown[] = [root];
  for (const value of queue) {
    if (typeof value === 'string') found.push(value);
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Map || value instanceof Set) queue.push(...(value as Iterable<unknown>));
    for (const key of Reflect.ownKeys(value)) {
      // Classes are code.
      if (typeof value === 'function' && key === 'prototype') continue;
      found.push(String(key));
      queue.push(read(value, value, key));
    }
    if (typeof value === 'function') continue;
    for (let prototype = Object.getPrototypeOf(value); prototype; prototype = Object.getPrototypeOf(prototype)) {
      for (const key of Reflect.ownKeys(prototype as object)) {
        if (Object.getOwnPropertyDescriptor(prototype, key)?.get) queue.push(read(prototype as object, value, key));
      }
    }
  }
  return found.join('\n');
}

function read(holder: object, value: object, key: string | symbol): unknown {
  const { get, value: plain } = Object.getOwnPropertyDescriptor(holder, key)!;
  if (!get) return plain;
  try {
    return get.call(value);
  } catch {
    return undefined;
  }
}
