import { Inject } from '@nestjs/common';
import type { LockConnection } from '../redis-lock.connection.js';
import { connectionToken, defaultConnection } from '../redis-lock.tokens.js';
import { injectionHints } from './interceptor.messages.js';
import { lockOutermost } from './method-wrapper.js';

const slots = new Map<string, symbol>();
const connectionsOf = new WeakMap<object, Map<string, symbol>>();

/**
 * Where an instance keeps the connection of its locked methods. Nest prints the description when it cannot resolve the
 * property, so it holds the remedy.
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
 * Lets Nest inject the connection into every instance of the class, as a property, whatever the constructor looks like.
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
    set(this: object, value: LockConnection) {
      // Not enumerable: no serializer, logger or test matcher sees it.
      const kept = Reflect.defineProperty(this, slot, { value, writable: true, configurable: true });
      if (!kept) ofFrozen.set(this, value);
      lockOutermost(this);
    },
  });
  return slot;
}

/** The connections that the locked methods of an instance's class, and of those it inherits from, ask for. */
export function connectionsWanted(instance: object): Map<string, symbol> {
  const wanted = new Map<string, symbol>();
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, slot] of connectionsOf.get(prototype) ?? []) wanted.set(name, slot);
  }
  return wanted;
}
