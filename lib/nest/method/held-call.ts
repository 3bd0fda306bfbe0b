import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { Lock } from '../../core/lock.js';

/** A request whose lock LockInterceptor holds, on its way to the handler. */
export interface HeldRequest {
  /** The `LockedMethod` of the handler. */
  readonly method: object;
  readonly context: ExecutionContext;
  /** False once the lock was left. */
  readonly isOpen: boolean;
  /** Runs the handler under the held lock. @throws LockLostError when the lock was lost before; then nothing ran. */
  run(work: () => unknown): unknown;
}

/** A call whose lock the outer wrapper holds, on its way through other decorators to the inner wrapper. */
interface HeldCall {
  readonly method: object;
  readonly instance: object;
  readonly lock: Lock;
  isTaken: boolean;
}

/** Both can exist: inside a request, other locked methods are called before its handler and by it. */
interface Held {
  readonly request: HeldRequest | undefined;
  readonly call: HeldCall | undefined;
}

const storage = new AsyncLocalStorage<Held>();

export const runInRequest = <T>(request: HeldRequest, fn: () => T): T =>
  storage.run({ request, call: storage.getStore()?.call }, fn);

export const runInCall = <T>(method: object, instance: object, lock: Lock, fn: () => T): T =>
  storage.run({ request: storage.getStore()?.request, call: { method, instance, lock, isTaken: false } }, fn);

/** The request that a call of this method belongs to. Undefined after its lock was left: a later call takes the lock itself. */
export function requestOf(method: object): HeldRequest | undefined {
  const request = storage.getStore()?.request;
  return request?.method === method && request.isOpen ? request : undefined;
}

/** True when LockInterceptor holds the lock of this request already: it may be on the handler, the class and the application. */
export const isInsideInterceptor = (context: ExecutionContext): boolean =>
  storage.getStore()?.request?.context === context;

/**
 * True when this call came through the outer wrapper: it runs under the lock of that wrapper. Once for each call: a retry, a late call
 * (after the lock was left) or a call from elsewhere takes the lock itself, which is a re-entry when it is the same lock.
 */
export function takeCall(method: object, instance: object): boolean {
  const call = storage.getStore()?.call;
  if (call?.method !== method || call.instance !== instance || call.isTaken || !call.lock.isHeld) return false;
  call.isTaken = true;
  return true;
}
