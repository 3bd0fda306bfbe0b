import 'reflect-metadata';
import { declareSlot } from '../interceptor/connection-slot.js';
import { located } from '../interceptor/error-location.js';
import { isWrittenByHand } from '../interceptor/http-answer.js';
import { LockedMethod } from '../interceptor/locked-method.js';
import { isLocked, lockInner } from '../interceptor/method-wrapper.js';
import { resultKind } from '../interceptor/result-kind.js';
import { compileKey } from '../key/key.resolver.js';
import { readMethodShape } from '../key/method-shape.reader.js';
import { decoratorRefusals as refusals } from './decorator.messages.js';
import { type DistributedLockOptions, readLockOptions } from './distributed-lock.options.js';
import type { DistributedLockDecorator, OnContended } from './distributed-lock.types.js';

/**
 * Runs the method under a lock: of all calls with the same key, in all processes, one at a time. The lock is taken before
 * every other decorator of the method (a transaction, a cache) and released after them, whatever their order, and held
 * until the promise, Observable, async iterable or StreamableFile that the method answers has really ended. A call inside
 * that asks for the same key does not wait for itself.
 *
 * For methods of everything that Nest creates: providers, controllers, resolvers, gateways, message handlers.
 * @param template the key, such as `'product:#{id}'`; see `DistributedLockOptions.key`.
 * @throws LockConfigurationError at once for whatever can be known without a call: a wrong template, option or kind of method.
 * The method itself rejects with LockNotAcquiredError, LockUnavailableError, LockLostError, or LockConfigurationError for
 * an argument that makes no key; then it was not run.
 */
export function DistributedLock(template: string): DistributedLockDecorator<readonly unknown[]>;
// Without defaults: with them, the compiler would not find the type of a parameter of `onContended` that has none written.
export function DistributedLock<A extends readonly unknown[], F extends OnContended, S extends readonly unknown[]>(
  options: DistributedLockOptions<A, F, S>,
): DistributedLockDecorator<A, F, S>;
export function DistributedLock(argument: unknown) {
  return (target: object, property: string | symbol, descriptor: PropertyDescriptor | undefined): void => {
    const where = `${typeof target === 'function' ? target.name : target.constructor.name}.${String(property)}`;
    located(`@DistributedLock on ${where}`, () => lock(where, argument, target, property, descriptor));
  };
}

function lock(
  where: string,
  argument: unknown,
  target: object,
  property: string | symbol,
  descriptor: PropertyDescriptor | undefined,
): void {
  const original: unknown = descriptor?.value;
  if (typeof target === 'function') throw refusals.staticMethod();
  if (!descriptor || typeof original !== 'function') throw refusals.noMethod();
  if (isLocked(target, property)) throw refusals.twice();
  const { key, params, returns, connection, onContended, signalOf, lock: options } = readLockOptions(argument);
  if (onContended === 'skip' && isWrittenByHand(target.constructor, property)) throw refusals.skippedResponse();
  const shape = readMethodShape(target.constructor, property, original);
  const declaredType: unknown = Reflect.getMetadata('design:returntype', target, property);
  const method = new LockedMethod({
    where,
    property,
    key: compileKey(key, shape, params),
    keyWithoutArguments: typeof key === 'function' || !String(key).includes('#{'),
    written: { key, params },
    kind: resultKind({ form: shape?.form, declaredType, returns }),
    repeatable: shape?.form !== 'async generator',
    onContended,
    signalOf,
    options,
    slot: declareSlot(target, connection),
    connection,
  });
  descriptor.value = lockInner(target, property, method, original as (...args: unknown[]) => unknown);
}
