import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Lock } from '../core/lock.js';
import { passageTo } from './handler-passage.js';
import type { LockedMethod } from './locked-method.js';

type Method = (this: object, ...args: unknown[]) => unknown;

/** A call that is on its way from the outer wrapper, which holds the lock, through other decorators to the inner one. */
interface Passage {
  readonly method: LockedMethod;
  readonly instance: object;
  readonly lock: Lock;
  taken: boolean;
}

const passages = new AsyncLocalStorage<Passage>();
const wrappings = new WeakMap<object, Map<string | symbol, LockedMethod>>();
/** Our own wrappers, inner and outer ones. */
const lockedBy = new WeakMap<object, LockedMethod>();

export const isLocked = (prototype: object, property: string | symbol): boolean =>
  wrappings.get(prototype)?.has(property) ?? false;

/** The locked methods of an instance's class and of those it inherits from; an override that is not locked hides none. */
export function* lockedMethodsOf(
  instance: object,
): Iterable<[property: string | symbol, method: LockedMethod, prototype: object]> {
  for (let prototype = Object.getPrototypeOf(instance); prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [property, method] of wrappings.get(prototype) ?? []) yield [property, method, prototype];
  }
}

/** What `@DistributedLock` knows of a handler, as Nest names it: its class, and the function that stands there. */
export function lockedHandler(type: { readonly prototype: unknown }, handler: object): LockedMethod | undefined {
  const method = lockedBy.get(handler);
  if (method) return method;
  // A decorator that turned the method into an accessor has hidden the wrapper.
  const { name } = handler as { name: string };
  let prototype = type.prototype as object | null;
  while (prototype && !Object.hasOwn(prototype, name)) prototype = Object.getPrototypeOf(prototype) as object | null;
  return prototype ? wrappings.get(prototype)?.get(name) : undefined;
}

/** Whether whoever calls this function takes the lock first. */
export const isLockWrapper = (method: object): boolean => lockedBy.has(method);

/** Wraps the method where the decorator stands. Works alone; decorators further out run outside of the lock until `lockOutermost`. */
export function lockInner(
  prototype: object,
  property: string | symbol,
  method: LockedMethod,
  original: Method,
): Method {
  const inner = disguise(original, function (this: object, ...args: unknown[]): unknown {
    const handed = passageTo(method);
    if (handed) return method.pass(handed, () => original.apply(this, args));
    if (passes(method, this)) return original.apply(this, args);
    return method.around(this, args, () => original.apply(this, args));
  });
  lockedBy.set(inner, method);
  const ofPrototype = wrappings.get(prototype) ?? new Map<string | symbol, LockedMethod>();
  wrappings.set(prototype, ofPrototype.set(property, method));
  return inner;
}

/**
 * Wraps the locked methods of a class, and of those it inherits from, once more as they stand now that every decorator has
 * run: the lock is then taken before, and released after, all of them (a transaction commits inside the lock).
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
  // An accessor (an autobind decorator) hands out the inner wrapper by itself; what nobody wrapped is outermost already.
  if (typeof standing !== 'function' || isLockWrapper(standing)) return;
  const next = standing as Method;
  const outer = disguise(next, function (this: object, ...args: unknown[]): unknown {
    const handed = passageTo(method);
    if (handed) return method.pass(handed, () => next.apply(this, args));
    return method.around(this, args, ({ lock }) =>
      passages.run({ method, instance: this, lock, taken: false }, () => next.apply(this, args)),
    );
  });
  lockedBy.set(outer, method);
  Object.defineProperty(prototype, property, { ...descriptor, value: outer });
}

/**
 * Whether this call came through the outer wrapper, whose lock it then runs under. Once for each: what calls the inner
 * wrapper again (a retry), later (after the lock went), or from elsewhere, takes the lock itself, which is a re-entry
 * where it is the same one.
 */
function passes(method: LockedMethod, instance: object): boolean {
  const passage = passages.getStore();
  if (passage?.method !== method || passage.instance !== instance || passage.taken || !passage.lock.isHeld)
    return false;
  passage.taken = true;
  return true;
}

/** Routes, guards, pipes, message patterns and API documentation are kept as metadata on the function: they go with it. */
function disguise(original: Method, wrapper: Method): Method {
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(wrapper, property, { value: original[property], configurable: true });
  }
  // Plain properties of the function, and metadata that is put on it later.
  return Object.setPrototypeOf(wrapper, original) as Method;
}
