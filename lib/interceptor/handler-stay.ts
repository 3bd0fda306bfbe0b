import type { ExecutionContext } from '@nestjs/common';
import { type Observable, type Subscriber, type Subscription, defer, isObservable } from 'rxjs';
import type { LockScope } from '../core/lock-scope.js';
import { type HandlerPassage, inPassage } from './handler-passage.js';
import type { LockedMethod } from './locked-method.js';
import { isStreamedBody } from './streamed-body.js';

/** The answer to an HTTP request. */
export interface Answer {
  /** As the handler gets it by `@Res()`. */
  readonly response: unknown;
  readonly end: Promise<void>;
}

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
  private respondsLater = false;
  private isAlone = false;
  private hasEnded = false;
  private behind: Subscription | undefined;

  /** @param answer undefined for everything but HTTP, where the last value ends the matter. */
  constructor(
    readonly method: LockedMethod,
    readonly context: ExecutionContext,
    private readonly scope: LockScope,
    private readonly subscriber: Subscriber<unknown>,
    private readonly answer: Answer | undefined,
  ) {
    this.streams = method.kind === 'observable';
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

  run(args: readonly unknown[], work: () => unknown): unknown {
    this.scope.lock.assertHeld();
    // The handler that asks for the response answers by itself.
    if (this.answer && args.includes(this.answer.response)) this.respondsLater = true;
    const result = work();
    // Of a promise only: the `then` of a lazy query would run it.
    if (result instanceof Promise) result.then((value) => this.look(value), ignore);
    else this.look(result);
    return result;
  }

  private look(result: unknown): void {
    if (isStreamedBody(result)) this.respondsLater = true;
    if (!isObservable(result)) return;
    this.streams = true;
    if (this.isAlone) this.stop();
  }

  private pass(value: unknown): void {
    if (isStreamedBody(value)) this.respondsLater = true;
    if (this.streams) this.subscriber.next(value);
    else this.values.push(value);
  }

  private async end(): Promise<void> {
    const { answer, subscriber } = this;
    this.hasEnded = true;
    if (answer && this.respondsLater) {
      this.handOn();
      await answer.end;
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

const ignore = (): void => {};
