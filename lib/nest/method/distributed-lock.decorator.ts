import 'reflect-metadata';
import { declareSlot } from './connection-slot.js';
import { located } from '../../errors/configuration.js';
import { type StandardContext, decoratedMethod, describeMethod, refuseUncalled } from '../base/decorated-method.js';
import { isWrittenByHand } from '../base/call-context.js';
import { LockedMethod } from './locked-method.js';
import { isLocked, lockInner } from './method-wrapper.js';
import { resultKind } from '../around/result-kind.js';
import { compileKey } from '../../key/key.resolver.js';
import { readMethodShape } from '../../key/method-shape.reader.js';
import { decoratorRefusals as refusals } from './method.messages.js';
import { type DistributedLockOptions, readLockOptions } from './distributed-lock.options.js';
import type { DistributedLockDecorator, OnContended } from './distributed-lock.types.js';

/**
 * Runs the method under a lock: of all calls with the same key, in all processes, one at a time. The lock is taken before all other
 * decorators of the method (a transaction, a cache) and released after them, in any order of decorators. It is held until the promise,
 * Observable, async iterable or StreamableFile that the method returns has really ended. A nested call with the same key does not wait for
 * itself.
 *
 * For methods of everything that Nest creates: providers, controllers, resolvers, gateways, message handlers.
 * @param options a template of the key, such as `'product:#{id}'`, or more: see `DistributedLockOptions`.
 * @throws LockConfigurationError at once for mistakes that show without a call: a wrong template, option or kind of method.
 * The method itself rejects with LockNotAcquiredError, LockUnavailableError, LockLostError, or LockConfigurationError for an argument that
 * makes no key; then it did not run.
 */
// One signature, and no overload for templates: compiler errors about a wrong option then do not mention overloads. Without defaults: with
// them the compiler would not infer the type of an unannotated parameter of `onContended`.
export function DistributedLock<
  KeyArgs extends readonly unknown[],
  Contended extends OnContended,
  SignalArgs extends readonly unknown[],
  This,
>(
  options: string | DistributedLockOptions<KeyArgs, Contended, SignalArgs, This>,
): DistributedLockDecorator<KeyArgs, Contended, SignalArgs, This>;
export function DistributedLock(...given: unknown[]): unknown {
  refuseUncalled('@DistributedLock', "@DistributedLock('product:#{id}')", given);
  const [options] = given;
  return (
    target: object,
    property: string | symbol | StandardContext,
    descriptor: PropertyDescriptor | undefined,
  ): void => {
    const where = describeMethod(target, property);
    located(`@DistributedLock on ${where}`, () => {
      if (given.length > 1) throw refusals.twoArguments();
      lock(where, options, target, decoratedMethod(target, property, descriptor));
    });
  };
}

function lock(
  where: string,
  argument: unknown,
  target: object,
  { property, descriptor, original }: ReturnType<typeof decoratedMethod>,
): void {
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
    kind: resultKind({
      form: shape?.form,
      declaredType,
      emitsTypes: Reflect.hasMetadata('design:type', target, property),
      method: original,
      returns,
    }),
    repeatable: shape?.form !== 'async generator',
    onContended,
    signalOf,
    options,
    slot: declareSlot(target, connection),
    connection,
  });
  descriptor.value = lockInner(target, property, method, original);
}
