import { Observable, type ObservableInput, type Subscriber, type Subscription, from } from 'rxjs';
import type { LockScope } from '../core/lock-scope.js';

/**
 * An Observable that holds the lock while it is subscribed to: each subscription takes it, runs the work, and leaves it
 * once, when the work completes or fails or the subscriber goes. Completion is signalled after the lock was left.
 * @param enter takes the lock; an aborted signal (the subscriber went while it waited) gives the waiting up.
 */
export function aroundObservable<T>(
  enter: (signal: AbortSignal) => Promise<LockScope>,
  work: (scope: LockScope) => ObservableInput<T>,
): Observable<T> {
  return new Observable((subscriber) => {
    const stay = new Stay(subscriber, work);
    const waiting = new AbortController();
    enter(waiting.signal).then(
      (scope) => stay.begin(scope),
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      waiting.abort();
      stay.abandon();
    };
  });
}

/** One subscription's time inside the lock. */
class Stay<T> {
  private scope: LockScope | undefined;
  private inner: Subscription | undefined;

  constructor(
    private readonly subscriber: Subscriber<T>,
    private readonly work: (scope: LockScope) => ObservableInput<T>,
  ) {}

  begin(scope: LockScope): void {
    this.scope = scope;
    // Granted in the moment in which the subscriber went.
    if (this.subscriber.closed) return this.abandon();
    try {
      scope.run(() => this.subscribe(scope));
    } catch (error) {
      this.fail(error);
    }
  }

  /** Nobody listens any more: stop the work, then give the lock back. */
  abandon(): void {
    this.inner?.unsubscribe();
    // Never rejects after 'failed'; after complete or error the lock was left before.
    void this.scope?.leave('failed');
  }

  private subscribe(scope: LockScope): void {
    const inner = from(this.work(scope)).subscribe({
      next: (value) => this.subscriber.next(value),
      error: (error: unknown) => this.fail(error),
      complete: () => this.complete(scope),
    });
    this.inner = inner;
    // A synchronous source that was cut short by `take(1)`: the subscriber went before `inner` was known.
    if (this.subscriber.closed) inner.unsubscribe();
  }

  private fail(error: unknown): void {
    void this.scope?.leave('failed').then(() => this.subscriber.error(error));
  }

  private complete(scope: LockScope): void {
    scope.leave('worked').then(
      () => this.subscriber.complete(),
      (error: unknown) => this.subscriber.error(error),
    );
  }
}
