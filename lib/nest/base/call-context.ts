import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { Lock } from '../../core/lock.js';
import { metadataKeys } from './metadata-keys.js';
import { responseEnd } from './response-end.js';

/** The HTTP request that the running code belongs to. */
interface HttpRequest {
  readonly handler: object;
  readonly response: unknown;
}

/** The response that the result of a route handler becomes. */
export interface HttpResponse {
  /** True when the handler writes the response itself, by `@Res()` or `@Next()`: then its result says nothing about the end. */
  readonly byHand: boolean;
  /** Settles when the response is over: sent, failed, or its client hung up. Undefined when it is not a response of Node. */
  end(): Promise<void> | undefined;
}

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

/** What the running code belongs to. All of it can exist at once: a handler and its interceptors call other locked methods. */
export interface CallContext {
  /** Undefined for other transports. */
  readonly http: HttpRequest | undefined;
  readonly request: HeldRequest | undefined;
  readonly call: HeldCall | undefined;
}

const contexts = new AsyncLocalStorage<CallContext>();

/** Undefined outside of requests and of locked methods with further decorators: most calls have none, and need ask no more. */
export const callContext = (): CallContext | undefined => contexts.getStore();

const runWith = <T>(change: Partial<CallContext>, fn: () => T): T => {
  const { http, request, call } = callContext() ?? {};
  return contexts.run({ http, request, call, ...change }, fn);
};

/** Runs `fn` as part of the request, so that `responseOf` finds it. Requests of other transports are not kept. */
export function inRequest<T>(context: ExecutionContext, fn: () => T): T {
  const isHttp = context.getType() === 'http';
  const http = isHttp
    ? { handler: context.getHandler(), response: context.switchToHttp().getResponse<unknown>() }
    : undefined;
  return runWith({ http }, fn);
}

export const runInRequest = <T>(request: HeldRequest, fn: () => T): T => runWith({ request }, fn);

export const runInCall = <T>(method: object, instance: object, lock: Lock, fn: () => T): T =>
  runWith({ call: { method, instance, lock, isTaken: false } }, fn);

/** The request that a call of this method belongs to. Undefined after its lock was left: a later call takes the lock itself. */
export const requestOf = ({ request }: CallContext, method: object): HeldRequest | undefined =>
  request?.method === method && request.isOpen ? request : undefined;

/** True when LockInterceptor holds the lock of this request already: it may be on the handler, the class and the application. */
export const isInsideInterceptor = (context: ExecutionContext): boolean => callContext()?.request?.context === context;

/**
 * True when this call came through the outer wrapper: it runs under the lock of that wrapper. Once for each call: a retry, a late call
 * (after the lock was left) or a call from elsewhere takes the lock itself, which is a re-entry when it is the same lock.
 */
export function takeCall({ call }: CallContext, method: object, instance: object): boolean {
  if (call?.method !== method || call.instance !== instance || call.isTaken || !call.lock.isHeld) return false;
  call.isTaken = true;
  return true;
}

/** @returns undefined when the method is not the handler of the running request. */
export function responseOf(
  { http }: CallContext,
  instance: object,
  property: string | symbol,
): HttpResponse | undefined {
  // A method that was called without an object is no handler; it is refused later.
  if (!http || !isSame(http.handler, Reflect.get(Object(instance) as object, property))) return undefined;
  return { byHand: isWrittenByHand(instance.constructor, property), end: () => responseEnd(http.response) };
}

/** A wrapper has the wrapped function as its prototype, and Nest may have found either. */
const isSame = (handler: object, method: unknown): boolean =>
  method === handler || (typeof method === 'function' && Object.prototype.isPrototypeOf.call(handler, method));

/** Nest decides it the same way, from the metadata of `@Res()` (parameter kind 1), `@Next()` (2) and `passthrough`. */
export function isWrittenByHand(constructor: object, property: string | symbol): boolean {
  const parameters = Reflect.getMetadata(metadataKeys.routeArguments, constructor, property) as object | undefined;
  const byHand = Object.keys(parameters ?? {}).some((parameter) => /^[12]:/.test(parameter));
  return byHand && Reflect.getMetadata(metadataKeys.responsePassthrough, constructor, property) !== true;
}
