import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import { responseEnd } from './response-end.js';

/** The HTTP request that the running code answers. */
interface HttpRequest {
  readonly handler: object;
  readonly response: unknown;
}

/** Where the result of a route handler goes. */
export interface HttpAnswer {
  /** Whether the handler writes the response itself, by `@Res()` or `@Next()`: then its result says nothing about the end. */
  readonly byHand: boolean;
  /** Settles when the response is over: sent, failed, or its client hung up. Undefined where it is none of Node's. */
  end(): Promise<void> | undefined;
}

const requests = new AsyncLocalStorage<HttpRequest | undefined>();

/** Runs `fn` as part of the request, so that `answerOf` finds it. Of another transport there is none to be found. */
export function inRequest<T>(context: ExecutionContext, fn: () => T): T {
  const isHttp = context.getType() === 'http';
  const request = isHttp
    ? { handler: context.getHandler(), response: context.switchToHttp().getResponse<unknown>() }
    : undefined;
  return requests.run(request, fn);
}

/** @returns undefined where the method is not the one that Nest called for the running request. */
export function answerOf(instance: object, property: string | symbol): HttpAnswer | undefined {
  const request = requests.getStore();
  // Called without an object, the method is nobody's handler; it is refused later.
  if (!request || !isSame(request.handler, Reflect.get(Object(instance) as object, property))) return undefined;
  return { byHand: isWrittenByHand(instance.constructor, property), end: () => responseEnd(request.response) };
}

/** A wrapper has what it wraps as its prototype, and Nest may have found either. */
const isSame = (handler: object, method: unknown): boolean =>
  method === handler || (typeof method === 'function' && Object.prototype.isPrototypeOf.call(handler, method));

/** As Nest decides it, from what `@Res()` (parameter kind 1), `@Next()` (2) and `passthrough` have written down. */
export function isWrittenByHand(constructor: object, property: string | symbol): boolean {
  const parameters = Reflect.getMetadata('__routeArguments__', constructor, property) as object | undefined;
  const byHand = Object.keys(parameters ?? {}).some((parameter) => /^[12]:/.test(parameter));
  return byHand && Reflect.getMetadata('__responsePassthrough__', constructor, property) !== true;
}
