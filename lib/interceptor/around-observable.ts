import {
  EMPTY,
  Observable,
  type ObservableInput,
  type Subscriber,
  catchError,
  concat,
  concatWith,
  defer,
  ignoreElements,
  tap,
  throwError,
} from 'rxjs';
import type { LockScope } from '../core/lock-scope.js';

/**
 * An Observable that holds the lock while it is subscribed to: each subscription takes it, runs the work, and leaves it
 * once, when the work completes or fails or the subscriber goes. The end is signalled after the lock was left.
 * @param enter takes the lock; an aborted signal (the subscriber went while it waited) gives the waiting up.
 * @param endOf says of the last value that its work goes on, and until when: then the lock is left there.
 */
export function aroundObservable<T>(
  enter: (signal: AbortSignal) => Promise<LockScope>,
  work: (scope: LockScope) => ObservableInput<T>,
  endOf?: EndOf<T>,
): Observable<T> {
  return new Observable((subscriber) => {
    const waiting = new AbortController();
    enter(waiting.signal).then(
      (scope) => stay(scope, work, subscriber, endOf),
      (error: unknown) => subscriber.error(error),
    );
    return () => waiting.abort();
  });
}

type EndOf<T> = (last: T | undefined) => Promise<void> | undefined;

/** One subscription's time inside the lock. Leaving twice changes nothing, and leaving as 'failed' never rejects. */
function stay<T>(
  scope: LockScope,
  work: (scope: LockScope) => ObservableInput<T>,
  subscriber: Subscriber<T>,
  endOf: EndOf<T> | undefined,
): void {
  let last: T | undefined;
  let goesOn = false;
  const leaving = (outcome: 'worked' | 'failed') => defer(() => scope.leave(outcome)).pipe(ignoreElements());
  const guarded = defer(() => work(scope)).pipe(
    tap((value) => (last = value)),
    concatWith(
      defer(() => {
        const end = endOf?.(last);
        if (!end) return leaving('worked');
        goesOn = true;
        void end.then(() => scope.leave('failed'));
        return EMPTY;
      }),
    ),
    catchError((error: unknown) =>
      concat(
        leaving('failed'),
        throwError(() => error),
      ),
    ),
  );
  // With the subscriber itself at the end, a synchronous source sees at once that it was cut short.
  scope.run(() => guarded.subscribe(subscriber));
  // Added last, so it runs when the work has been stopped; at once, when the subscriber went in the moment of the grant.
  subscriber.add(() => {
    if (!goesOn) void scope.leave('failed');
  });
}
