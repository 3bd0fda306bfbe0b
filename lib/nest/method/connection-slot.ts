import { Inject } from '@nestjs/common';
import type { LockConnection } from '../../connection/lock.connection.js';
import { defaultConnection } from '../../connection/connection.options.js';
import { connectionToken } from '../../connection/redis-lock.tokens.js';
import { refuseOfOtherCopy } from '../../connection/copies.js';
import { injectionHints } from './method.messages.js';
import { lockOutermost } from './method-wrapper.js';

const slots = new Map<string, symbol>();
const connectionsOf = new WeakMap<object, Map<string, symbol>>();

/**
 * Where an instance keeps the connection of its locked methods. Nest prints the description when it cannot resolve the property, so it
 * contains the remedy.
 */
function slotOf(connection: string): symbol {
  let slot = slots.get(connection);
  if (!slot) {
    const options = connection === defaultConnection ? '' : `{ name: '${connection}' }`;
    slots.set(connection, (slot = Symbol(injectionHints.importModule(options))));
  }
  return slot;
}

/**
 * Makes Nest inject the connection into each instance of the class, as a property, for all kinds of constructors.
 * @returns the property's key.
 */
export function declareSlot(prototype: object, connection: string): symbol {
  const slot = slotOf(connection);
  const declared = connectionsOf.get(prototype) ?? new Map<string, symbol>();
  connectionsOf.set(prototype, declared.set(connection, slot));
  // A base class may have declared it.
  if (slot in prototype) return slot;
  Inject(connectionToken(connection))(prototype, slot);
  const ofFrozen = new WeakMap<object, LockConnection>();
  Object.defineProperty(prototype, slot, {
    configurable: true,
    get(this: object) {
      return ofFrozen.get(this);
    },
    set(this: object, given: LockConnection) {
      refuseOfOtherCopy(given);
      // A module of @nestjs/testing may have made a mock, which locks nothing.
      const value =
        typeof (given as Partial<LockConnection> | undefined)?.defaults?.lease === 'number' ? given : undefined;
      // Not enumerable: hidden from serializers, loggers and test matchers.
      const kept = Reflect.defineProperty(this, slot, { value, writable: true, configurable: true });
      if (!kept && value) ofFrozen.set(this, value);
      lockOutermost(this);
    },
  });
  return slot;
}

/** The connections of the locked methods of an instance's class and of its base classes. */
export function connectionsWanted(instance: object): Map<string, symbol> {
  const wanted = new Map<string, symbol>();
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, slot] of connectionsOf.get(prototype) ?? []) wanted.set(name, slot);
  }
  return wanted;
}

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
 * The connection of an instance: the one that Nest injected. For an instance that Nest did not make (useFactory, useValue) and that was not
 * bound at start: the one of its application. Undefined when no application knows the instance.
 */
export function connectionOfInstance(instance: object, name: string, slot: symbol): LockConnection | undefined {
  const bindable = instance as Record<symbol, LockConnection | undefined>;
  const bound = bindable[slot];
  if (bound && !bound.isClosing) return bound;
  for (const finder of finders) {
    const found = finder.deref()?.find(instance, name);
    if (found) return (bindable[slot] = found);
  }
  return bound;
}
