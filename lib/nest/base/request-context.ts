import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
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

const requests = new AsyncLocalStorage<HttpRequest | undefined>();

/** Runs `fn` as part of the request, so that `responseOf` finds it. Requests of other transports are not kept. */
export function inRequest<T>(context: ExecutionContext, fn: () => T): T {
  const isHttp = context.getType() === 'http';
  const request = isHttp
    ? { handler: context.getHandler(), response: context.switchToHttp().getResponse<unknown>() }
    : undefined;
  return requests.run(request, fn);
}

/** @returns undefined when the method is not the handler of the running request. */
export function responseOf(instance: object, property: string | symbol): HttpResponse | undefined {
  const request = requests.getStore();
  // A method that was called without an object is no handler; it is refused later.
  if (!request || !isSame(request.handler, Reflect.get(Object(instance) as object, property))) return undefined;
  return { byHand: isWrittenByHand(instance.constructor, property), end: () => responseEnd(request.response) };
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
