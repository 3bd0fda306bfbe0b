import { Observable } from 'rxjs';
import { oneOf } from '../core/options.js';
import type { MethodForm } from '../key/method-shape.reader.js';
import { kindRefusals as refusals } from './interceptor.messages.js';

/** What a locked method answers: the lock is taken asynchronously, so this must be known before it runs. */
export type ResultKind = 'promise' | 'observable' | 'iterable';

export const resultKinds = ['promise', 'observable', 'iterable'] as const;

interface KindSources {
  /** How the method is written, where its source could be read. */
  readonly form: MethodForm | undefined;
  /** The emitted `design:returntype`: undefined for none, and `Object` for interfaces and unions. */
  readonly declaredType: unknown;
  /** The option `returns`. */
  readonly returns: unknown;
}

/** @throws LockConfigurationError when the kind cannot be told, or is none that can be locked. */
export function resultKind({ form, declaredType, returns }: KindSources): ResultKind {
  const stated = returns === undefined ? undefined : oneOf('returns', returns, resultKinds);
  const found = kindOfForm(form) ?? kindOfType(declaredType);
  if (form === 'generator') throw refusals.synchronousGenerator();
  if (stated !== undefined && form !== undefined && stated !== (kindOfForm(form) ?? stated))
    throw refusals.contradiction(stated, form);
  const kind = stated ?? found;
  if (kind) return kind;
  throw refusals.synchronous(describeDeclared(declaredType));
}

function describeDeclared(type: unknown): string {
  if (typeof type !== 'function') return 'the method is not async';
  return type === Object
    ? 'the method is not async, and its return type is lost at run time (an interface, a union, or imported with `import type`)'
    : `the method is declared to return ${type.name}`;
}

function kindOfForm(form: MethodForm | undefined): ResultKind | undefined {
  if (form === 'async') return 'promise';
  return form === 'async generator' ? 'iterable' : undefined;
}

function kindOfType(type: unknown): ResultKind | undefined {
  if (type === Promise) return 'promise';
  return typeof type === 'function' && (type === Observable || type.prototype instanceof Observable)
    ? 'observable'
    : undefined;
}
