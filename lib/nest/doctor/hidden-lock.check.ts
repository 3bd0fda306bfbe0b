import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { isLockWrapper, type ProvidedMethod } from '../method/method-wrapper.js';
import { readMethodShape } from '../../key/method-shape.reader.js';
import { applicationFindings } from './doctor.messages.js';

/** What callers reach instead of the lock: a function that a library put in front, or an override without a lock. */
export function findHidden({ instance, prototype, property, method }: ProvidedMethod): LockFinding[] {
  const { where } = method;
  const holder = holderOf(instance, property);
  const standing: unknown = holder && Object.getOwnPropertyDescriptor(holder, property)?.value;
  // An accessor (an autobind decorator) returns the locked method itself.
  if (typeof standing !== 'function' || isLockWrapper(standing)) return [];
  if (holder === instance) return [applicationFindings.wrapped(where, 'the instance')];
  if (holder === prototype || typeof property === 'symbol') return [applicationFindings.wrapped(where, 'its class')];
  const type = holder!.constructor;
  const override = readMethodShape(type, property, undefined);
  if (override?.callsSuper) return [];
  return [
    override
      ? applicationFindings.overridden(where, `${type.name}.${property}`, property)
      : applicationFindings.wrapped(where, type.name),
  ];
}

/** The object on the instance's prototype chain that has the property. */
function holderOf(instance: object, property: string | symbol): object | undefined {
  for (let holder: object | null = instance; holder; holder = Object.getPrototypeOf(holder) as object | null) {
    if (Object.hasOwn(holder, property)) return holder;
  }
  return undefined;
}
