import 'reflect-metadata';
import type { ModulesContainer } from '@nestjs/core';
import { objectsOf, wrappersOf } from '../base/instances.js';
import { callContext, requestOf, runInCall, takeCall } from '../base/call-context.js';
import type { LockScope } from '../../core/lock.js';
import type { LockedMethod } from './locked-method.js';

type Method = (this: object, ...args: unknown[]) => unknown;

const wrappings = new WeakMap<object, Map<string | symbol, LockedMethod>>();
/** Our own wrappers, inner and outer ones. */
const lockedBy = new WeakMap<object, LockedMethod>();

export const isLocked = (prototype: object, property: string | symbol): boolean =>
  wrappings.get(prototype)?.has(property) ?? false;

/** The locked methods of an instance's class and of its base classes. An override without a lock hides none. */
export function* lockedMethodsOf(
  instance: object,
): Iterable<[property: string | symbol, method: LockedMethod, prototype: object]> {
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [property, method] of wrappings.get(prototype) ?? []) yield [property, method, prototype];
  }
}

/** The locked method of a handler, as Nest names it: by its class and the function found there. */
export function lockedHandler(type: { readonly prototype: unknown }, handler: object): LockedMethod | undefined {
  const method = lockedBy.get(handler);
  if (method) return method;
  // A decorator that turned the method into an accessor has hidden the wrapper.
  const { name } = handler as { name: string };
  let prototype = type.prototype as object | null;
  while (prototype && !Object.hasOwn(prototype, name)) prototype = Object.getPrototypeOf(prototype) as object | null;
  return prototype ? wrappings.get(prototype)?.get(name) : undefined;
}

/** True for our own wrappers. */
export const isLockWrapper = (method: object): boolean => lockedBy.has(method);

/** Wraps the method at the position of the decorator. Works alone; decorators further out run outside of the lock until `lockOutermost`. */
export function lockInner(
  prototype: object,
  property: string | symbol,
  method: LockedMethod,
  original: Method,
): Method {
  const locked: Method = function (...args) {
    const context = callContext();
    const request = context && requestOf(context, method);
    if (request) return method.runInRequest(request, () => original.apply(this, args));
    if (context && takeCall(context, method, this)) return original.apply(this, args);
    return method.around(this, args, () => original.apply(this, args), context);
  };
  const inner = disguise(original, behindGate(prototype, property, locked));
  lockedBy.set(inner, method);
  const ofPrototype = wrappings.get(prototype) ?? new Map<string | symbol, LockedMethod>();
  wrappings.set(prototype, ofPrototype.set(property, method));
  return inner;
}

/**
 * Wraps the locked methods of a class and of its base classes once more, after all decorators have run. The lock is then taken before, and
 * released after, all of them (a transaction commits inside the lock).
 */
export function lockOutermost(instance: object): void {
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    const ofPrototype = wrappings.get(prototype);
    if (!ofPrototype) continue;
    for (const [property, method] of ofPrototype) lockAround(prototype, property, method);
  }
}

function lockAround(prototype: object, property: string | symbol, method: LockedMethod): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, property);
  const standing: unknown = descriptor?.value;
  // An accessor (an autobind decorator) returns the inner wrapper itself; an unwrapped method is outermost already.
  if (typeof standing !== 'function' || isLockWrapper(standing)) return;
  const next = standing as Method;
  const locked: Method = function (...args) {
    const context = callContext();
    const request = context && requestOf(context, method);
    if (request) return method.runInRequest(request, () => next.apply(this, args));
    const work = ({ lock }: LockScope): unknown => runInCall(method, this, lock, () => next.apply(this, args));
    return method.around(this, args, work, context);
  };
  const outer = disguise(next, behindGate(prototype, property, locked));
  lockedBy.set(outer, method);
  Object.defineProperty(prototype, property, { ...descriptor, value: outer });
}

/** Decides at each call whether the method is called. It must let a call pass that it has let pass already, further out. */
export type Gate = (instance: object, call: () => unknown) => unknown;

const gates = new WeakMap<object, Map<string | symbol, Gate>>();

/** Lets a decorator decide before the lock is taken, in any order of decorators. @returns the method behind the gate */
export function addGate(prototype: object, property: string | symbol, gate: Gate, original: Method): Method {
  const ofPrototype = gates.get(prototype) ?? new Map<string | symbol, Gate>();
  gates.set(prototype, ofPrototype.set(property, gate));
  return disguise(original, behindGate(prototype, property, original));
}

function behindGate(prototype: object, property: string | symbol, method: Method): Method {
  const gate = gates.get(prototype)?.get(property);
  if (!gate) return method;
  return function (...args) {
    return gate(this, () => method.apply(this, args));
  };
}

/** Routes, guards, pipes, message patterns and API documentation are metadata of the function: the wrapper needs them. */
function disguise(original: Method, wrapper: Method): Method {
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(wrapper, property, { value: original[property], configurable: true });
  }
  // Decorators further out may read parameter names there, as @MurLock does.
  Object.defineProperty(wrapper, 'toString', { value: () => original.toString(), configurable: true, writable: true });
  // For plain properties of the function, and metadata that is added later.
  return Object.setPrototypeOf(wrapper, original) as Method;
}

/** A locked method of an object that the application provides. */
export interface ProvidedMethod {
  /** The provider or controller. For request-scoped classes: the object that Nest keeps in its place. */
  readonly instance: object;
  /** Where the decorator is: the instance's class, or a base class. */
  readonly prototype: object;
  readonly property: string | symbol;
  readonly method: LockedMethod;
}

/** The locked methods of one connection, in the whole application. */
export function* providedMethods(application: ModulesContainer, connection: string): Iterable<ProvidedMethod> {
  for (const instance of new Set(objectsOf(wrappersOf(application)))) {
    for (const [property, method, prototype] of lockedMethodsOf(instance)) {
      if (method.settings.connection === connection) yield { instance, prototype, property, method };
    }
  }
}
