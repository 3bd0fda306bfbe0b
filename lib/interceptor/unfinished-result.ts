import { finished } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { Observable, isObservable } from 'rxjs';
import type { LockScope } from '../core/lock-scope.js';
import { iterateIn } from './around-iterable.js';
import type { HttpAnswer } from './http-answer.js';
import { callRefusals } from './interceptor.messages.js';
import { isStreamedBody } from './streamed-body.js';

/** A result whose work goes on when it is answered: what to answer, and when it is over. */
export interface Unfinished<T> {
  readonly result: T;
  readonly end: Promise<void>;
}

/**
 * When the work behind a result is over, where that is later than the result: with the stream of a file, which somebody reads,
 * and with the response of a handler that answered a stream or writes by itself. Of other streams it is not known who reads them.
 * @returns undefined where the result is there in full.
 */
export function endOf(result: unknown, answer: HttpAnswer | undefined): Promise<void> | undefined {
  const sent = answer && (answer.byHand || isStreamedBody(result) || isObservable(result)) ? answer.end() : undefined;
  if (!(result instanceof StreamableFile)) return sent && whenRead(result, sent);
  // The callback also comes with an error, which Nest handles; a file that an interceptor dropped ends with the response.
  const read = new Promise<void>((resolve) => void finished(result.getStream(), { writable: false }, () => resolve()));
  return sent ? Promise.race([read, sent]) : read;
}

/** @param sent when the response is over: nobody reads on, but a step may be under way, and `finally` is still to come. */
export async function whenRead(body: unknown, sent: Promise<void>): Promise<void> {
  await sent;
  // Its error is Nest's matter.
  if (isAsyncGenerator(body)) await body.return(undefined).catch(() => {});
}

/**
 * As `endOf`, for what a promise brought. What is run later by the one who gets it runs inside the lock's flow.
 * @throws LockConfigurationError for an Observable that nobody may ever subscribe to.
 */
export function unfinished<T>(
  result: T,
  scope: LockScope,
  where: string,
  answer: HttpAnswer | undefined,
): Unfinished<T> | undefined {
  const end = endOf(result, answer);
  if (end) return { result: continued(result, scope), end };
  if (!isObservable(result)) return undefined;
  throw callRefusals.lateObservable(where);
}

/** What is run later, by the one who gets it, runs in the flow of the lock. */
export function continued<T>(result: T, scope: LockScope): T {
  if (isObservable(result)) {
    return new Observable((subscriber) => scope.run(() => result.subscribe(subscriber))) as T;
  }
  return isAsyncGenerator(result) ? (iterateIn(scope, result) as T) : result;
}

const isAsyncGenerator = (value: unknown): value is AsyncGenerator =>
  Object.prototype.toString.call(value) === '[object AsyncGenerator]';
