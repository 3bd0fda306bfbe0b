import type { LockConnection } from '../redis-lock.connection.js';

/** Knows the instances of one application. */
export interface ConnectionFinder {
  find(instance: object, name: string): LockConnection | undefined;
}

const finders = new Set<WeakRef<ConnectionFinder>>();

export function findConnectionsWith(finder: ConnectionFinder): void {
  for (const known of finders) if (!known.deref()) finders.delete(known);
  finders.add(new WeakRef(finder));
}

/**
 * The connection of an instance: the one that Nest injected; or, where another has made the instance (useFactory, useValue) and
 * it was not bound at start, that of the application that it is a part of. Undefined for what no application knows.
 */
export function connectionOf(instance: object, name: string, slot: symbol): LockConnection | undefined {
  const bindable = instance as Record<symbol, LockConnection | undefined>;
  const bound = bindable[slot];
  if (bound && !bound.isClosing) return bound;
  for (const finder of finders) {
    const found = finder.deref()?.find(instance, name);
    if (found) return (bindable[slot] = found);
  }
  return bound;
}
