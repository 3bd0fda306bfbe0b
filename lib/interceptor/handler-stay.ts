import type { ExecutionContext } from '@nestjs/common';
import { type Observable, type Subscriber, type Subscription, defer, isObservable } from 'rxjs';
import type { LockScope } from '../core/lock-scope.js';
import { type HandlerPassage, inPassage } from './handler-passage.js';
import type { LockedMethod } from './locked-method.js';
import { isWrittenByHand } from './http-answer.js';
import { isStreamedBody } from './streamed-body.js';
import { continued, whenRead } from './unfinished-result.js';

/**
 * One request inside the lock of its handler: from the grant until everything behind the interceptor has ended, and the response,
 * where that goes on by itself.
 *
 * A value is handed on when the lock was left, so that whoever has the answer finds it free. What an Observable emits is
 * handed on at once. When the subscriber goes (its client hung up), an Observable is stopped; a handler that is at work cannot
 * be, so it keeps the lock to its end.
 */
export class HandlerStay implements HandlerPassage {
  isOpen = true;
  private readonly values: unknown[] = [];
  /** Whether the values are those of an Observable of the handler. */
  private streams: boolean;
  /** Whether the response goes on when everything behind the interceptor has ended. */
  private respondsLater: boolean;
  /** What is read piece by piece then, where it is known. */
  private body: unknown;
  private isAlone = false;
  private hasEnded = false;
  private behind: Subscription | undefined;

  /** @param sent when the response to an HTTP request is over; undefined for everything else, where the last value ends the matter. */
  constructor(
    readonly method: LockedMethod,
    readonly context: ExecutionContext,
    private readonly scope: LockScope,
    private readonly subscriber: Subscriber<unknown>,
    private readonly sent: Promise<void> | undefined,
  ) {
    this.streams = method.kind === 'observable';
    this.respondsLater = sent !== undefined && isWrittenByHand(context.getClass(), method.property);
  }

  /** @param handle answers everything behind the interceptor. */
  begin(handle: () => Observable<unknown>): void {
    const { subscriber, scope } = this;
    if (subscriber.closed) return void this.leave('failed');
    subscriber.add(() => this.abandon());
    this.behind = scope.run(() =>
      inPassage(this, () =>
        defer(handle).subscribe({
          next: (value) => this.pass(value),
          error: (error: unknown) => void this.fail(error),
          complete: () => void this.end(),
        }),
      ),
    );
  }

  run(work: () => unknown): unknown {
    this.scope.lock.assertHeld();
    const result = work();
    // Of a promise only: the `then` of a lazy query would run it.
    return result instanceof Promise ? result.then((value: unknown) => this.look(value)) : this.look(result);
  }

  private look(result: unknown): unknown {
    if (isObservable(result)) {
      this.streams = true;
      if (this.isAlone) this.stop();
      return result;
    }
    if (!isStreamedBody(result)) return result;
    this.respondsLater = true;
    this.body = result;
    // It is read outside of everything that stands here.
    return continued(result, this.scope);
  }

  private pass(value: unknown): void {
    if (isStreamedBody(value)) this.respondsLater = true;
    if (this.streams) this.subscriber.next(value);
    else this.values.push(value);
  }

  private async end(): Promise<void> {
    const { sent, subscriber } = this;
    this.hasEnded = true;
    if (sent && this.respondsLater) {
      this.handOn();
      await whenRead(this.body, sent);
      return this.leave('failed');
    }
    try {
      await this.leave(this.isAlone ? 'failed' : 'worked');
    } catch (lost) {
      return subscriber.error(lost);
    }
    this.handOn();
  }

  private handOn(): void {
    for (const value of this.values) this.subscriber.next(value);
    this.subscriber.complete();
  }

  private async fail(error: unknown): Promise<void> {
    this.hasEnded = true;
    await this.leave('failed');
    this.subscriber.error(error);
  }

  /** Nobody waits for the answer any more. */
  private abandon(): void {
    this.isAlone = true;
    if (this.streams && !this.hasEnded) this.stop();
  }

  private stop(): void {
    this.behind?.unsubscribe();
    void this.leave('failed');
  }

  private leave(outcome: 'worked' | 'failed'): Promise<void> {
    this.isOpen = false;
    return this.scope.leave(outcome);
  }
}
