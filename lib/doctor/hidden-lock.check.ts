import type { LockFinding } from '../core/lock-finding.js';
import { isLockWrapper } from '../interceptor/method-wrapper.js';
import { readMethodShape } from '../key/method-shape.reader.js';
import { applicationFindings } from './doctor.messages.js';
import type { LockedPlace } from './locked-places.reader.js';

/** What callers reach first where it is not the lock: a function that a library put there, or an override without it. */
export function findHidden({ instance, prototype, property, method }: LockedPlace): LockFinding[] {
  const { where } = method;
  const holder = holderOf(instance, property);
  const standing: unknown = holder && Object.getOwnPropertyDescriptor(holder, property)?.value;
  // An accessor (an autobind decorator) hands out the locked method by itself.
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

/** The object on the instance's chain whose property counts. */
function holderOf(instance: object, property: string | symbol): object | undefined {
  for (let holder: object | null = instance; holder; holder = Object.getPrototypeOf(holder) as object | null) {
    if (Object.hasOwn(holder, property)) return holder;
  }
  return undefined;
}
