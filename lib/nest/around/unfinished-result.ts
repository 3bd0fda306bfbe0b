import { finished } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { Observable, isObservable } from 'rxjs';
import type { Unfinished } from '../../connection/around-promise.js';
import type { LockScope } from '../../core/lock.js';
import { iterateIn } from './around-iterable.js';
import type { HttpResponse } from '../base/call-context.js';
import { callRefusals } from './around.messages.js';
import { lazyKind } from '../../connection/lazy-result.js';

/**
 * When the work behind a result ends, where that is later than the result: with the stream of a StreamableFile, and with the response of a
 * handler that returned a stream or writes the response itself. Other streams have an unknown reader.
 * @returns undefined when the result is complete.
 */
export function endOf(result: unknown, response: HttpResponse | undefined): Promise<void> | undefined {
  const sent =
    response && (response.byHand || isStreamedBody(result) || isObservable(result)) ? response.end() : undefined;
  if (!(result instanceof StreamableFile)) return sent && whenRead(result, sent);
  // A file that an interceptor dropped ends with the response.
  const read = wholeStream(result.getStream());
  return sent ? Promise.race([read, sent]) : read;
}

/** Settles when a stream was read, or has failed. Never rejects: the callback also gets errors, which its reader handles. */
export const wholeStream = (stream: NodeJS.ReadableStream): Promise<void> =>
  new Promise((resolve) => void finished(stream, { writable: false }, () => resolve()));

/** @param sent settles when the response is over. Its reader is gone then, but a step may be under way and `finally` is still to run. */
export async function whenRead(body: unknown, sent: Promise<void>): Promise<void> {
  await sent;
  // Nest handles its error.
  if (isAsyncGenerator(body)) await body.return(undefined).catch(() => {});
}

/**
 * As `endOf`, for the result of a promise. What its reader runs later runs inside the lock's flow.
 * @throws LockConfigurationError for an Observable, a generator or a stream outside of a request: it may never be subscribed to or read.
 */
export function unfinished<T>(
  result: T,
  scope: LockScope,
  where: string,
  response: HttpResponse | undefined,
): Unfinished<T> | undefined {
  const end = certainEndOf(result, response);
  if (end) return { result: continued(result, scope), end };
  const kind = lazyKind(result);
  if (kind === 'an Observable') throw callRefusals.lateObservable(where);
  if (kind === 'an async generator') throw callRefusals.lateGenerator(where);
  // The response of a handler may be none of Node.
  if (kind !== undefined && !response) throw callRefusals.lateResult(where, kind);
  return undefined;
}

function certainEndOf(result: unknown, response: HttpResponse | undefined): Promise<void> | undefined {
  try {
    return endOf(result, response);
  } catch {
    // A getter of the application's own: the work is done, and its result is none of these.
    return undefined;
  }
}

/** The same result, whose later steps run in the flow of the lock. */
export function continued<T>(result: T, scope: LockScope): T {
  if (isObservable(result)) {
    return new Observable((subscriber) => scope.run(() => result.subscribe(subscriber))) as T;
  }
  return isAsyncGenerator(result) ? (iterateIn(scope, result) as T) : result;
}

const isAsyncGenerator = (value: unknown): value is AsyncGenerator =>
  Object.prototype.toString.call(value) === '[object AsyncGenerator]';

/**
 * True for a result that Nest, Express or Fastify sends piece by piece after the handler returned it: a StreamableFile, a Node or web
 * stream, a web Response, an async iterable.
 */
export function isStreamedBody(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  if (result instanceof StreamableFile || Object.prototype.toString.call(result) === '[object Response]') return true;
  const { pipe, then, [Symbol.asyncIterator]: iterate } = result as Record<PropertyKey, unknown>;
  // A query that can be iterated and awaited counts as a promise.
  return typeof then !== 'function' && (typeof pipe === 'function' || typeof iterate === 'function');
}
