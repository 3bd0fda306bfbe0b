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
import type { LockScope } from '../../core/lock.js';

/**
 * An Observable that holds the lock while it is subscribed to. Each subscription takes the lock, runs the work, and leaves the lock once:
 * when the work completes or fails, or when the subscriber unsubscribes. `complete` and `error` follow after the lock was left.
 * @param enter takes the lock. It stops waiting when the signal aborts: the subscriber has unsubscribed.
 * @param endOf returns when the work behind the last value ends, where that is later than the value; then the lock is left at that time.
 */
export function aroundObservable<T>(
  enter: (signal: AbortSignal) => Promise<LockScope>,
  work: (scope: LockScope) => ObservableInput<T>,
  endOf?: EndOf<T>,
): Observable<T> {
  return new Observable((subscriber) => {
    const waiting = new AbortController();
    enter(waiting.signal).then(
      (scope) => subscribeInside(scope, work, subscriber, endOf),
      (error: unknown) => subscriber.error(error),
    );
    return () => waiting.abort();
  });
}

type EndOf<T> = (last: T | undefined) => Promise<void> | undefined;

/** One subscription inside the lock. Leaving twice changes nothing, and leaving as 'failed' never rejects. */
function subscribeInside<T>(
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
  // Subscribed directly, so that a synchronous source sees at once that the subscriber has unsubscribed.
  scope.run(() => guarded.subscribe(subscriber));
  // Added last, so it runs after the work was stopped. It runs at once when the subscriber unsubscribed at the moment of the grant.
  subscriber.add(() => {
    if (!goesOn) void scope.leave('failed');
  });
}
