import { Observable } from 'rxjs';
import { oneOf } from '../../errors/read-options.js';
import type { MethodForm } from '../../key/method-shape.reader.js';
import { kindRefusals as refusals } from './around.messages.js';

/** What a locked method returns. It must be known before the method runs, because the lock is taken asynchronously. */
export type ResultKind = 'promise' | 'observable' | 'iterable';

const resultKinds = ['promise', 'observable', 'iterable'] as const;

interface KindSources {
  /** How the method is written, where its source could be read. */
  readonly form: MethodForm | undefined;
  /** The emitted `design:returntype`: undefined when none was emitted, `Object` for interfaces and unions. */
  readonly declaredType: unknown;
  /** True when the build emits types: each decorated method then has `design:type`. */
  readonly emitsTypes: boolean;
  readonly method: (...args: never[]) => unknown;
  /** The option `returns`. */
  readonly returns: unknown;
}

/** @throws LockConfigurationError when the kind cannot be read, or cannot be locked. */
export function resultKind({ form, declaredType, emitsTypes, method, returns }: KindSources): ResultKind {
  const stated = returns === undefined ? undefined : oneOf('returns', returns, resultKinds);
  const found = kindOfForm(form) ?? kindOfType(declaredType);
  if (form === 'generator') throw refusals.synchronousGenerator();
  if (stated !== undefined && form !== undefined && stated !== (kindOfForm(form) ?? stated))
    throw refusals.contradiction(stated, form);
  const kind = stated ?? found;
  if (kind) return kind;
  if (typeof declaredType === 'function')
    throw refusals.declared(declaredType === Object ? undefined : declaredType.name);
  if (emitsTypes) throw refusals.undeclared();
  throw loweredAsync.test(Function.prototype.toString.call(method)) ? refusals.lowered() : refusals.untyped();
}

/** The helpers to which tsc, esbuild, SWC and Babel compile `async`. */
const loweredAsync = /\b_+(?:async|awaiter|async_to_generator|asyncToGenerator)\(/;

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
