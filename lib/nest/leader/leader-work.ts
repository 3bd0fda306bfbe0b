import { isObservable, Observable } from 'rxjs';
import { aroundIterable } from '../around/around-iterable.js';
import { isLazyStream } from '../../connection/lazy-result.js';
import { continued, endOf, wholeStream } from '../around/unfinished-result.js';
import type { LockScope } from '../../core/lock.js';
import type { HttpResponse } from '../base/call-context.js';
import type { LocalElection } from '../../leader/election.js';

/**
 * Runs a call on the leader. Its work ends with its result; with the stream or the response that it returned; or, where the result begins its
 * work only later, with that: the next leader is elected then.
 * @param scope of the present leadership
 * @param response the response of the request, if the call is a request's handler
 */
export function runOnLeader(
  election: LocalElection,
  scope: LockScope,
  call: () => unknown,
  response: HttpResponse | undefined,
): unknown {
  const ended = (): void => void scope.leave('worked');
  let result: unknown;
  try {
    result = scope.run(() => {
      const returned = call();
      // A query that begins with `then` must begin inside, and once.
      return isThenable(returned) ? Promise.resolve(returned) : returned;
    });
  } catch (error) {
    ended();
    throw error;
  }
  const restOf = (value: unknown): unknown => {
    if (isObservable(value)) {
      ended();
      return onLeader(election, value);
    }
    const end = endOf(value, response) ?? (isLazyStream(value) ? wholeStream(value) : undefined);
    if (end) {
      void end.then(ended);
      return continued(value, scope);
    }
    ended();
    return isAsyncIterable(value) ? iterateOnLeader(election, value) : value;
  };
  const settle = (value: unknown): unknown => {
    try {
      return restOf(value);
    } catch {
      // A getter of the application's own: the work is done.
      ended();
      return value;
    }
  };
  if (!isThenable(result)) return settle(result);
  return result.then(settle, (error: unknown) => {
    ended();
    throw error;
  });
}

/** Its work begins with the subscription, and ends with it: that belongs to the leader, too. */
function onLeader(election: LocalElection, source: Observable<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    const scope = election.enter();
    // The leadership has ended since the call.
    if (!scope) return subscriber.complete();
    subscriber.add(() => void scope.leave('worked'));
    scope.run(() => source.subscribe(subscriber));
  });
}

/** The same from the first `next()` to the end. */
async function* iterateOnLeader(election: LocalElection, source: AsyncIterable<unknown>): AsyncGenerator {
  const scope = election.enter();
  return (
    scope &&
    (yield* aroundIterable(
      async () => scope,
      () => source,
    ))
  );
}

const isThenable = (result: unknown): result is PromiseLike<unknown> =>
  typeof (result as Partial<PromiseLike<unknown>> | undefined | null)?.then === 'function';

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof (value as Partial<AsyncIterable<unknown>> | undefined | null)?.[Symbol.asyncIterator] === 'function';
