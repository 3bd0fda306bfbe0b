import type { ExecutionContext } from '@nestjs/common';
import { type Observable, type Subscriber, type Subscription, defer, isObservable } from 'rxjs';
import type { LockScope } from '../../core/lock.js';
import type { LockedMethod } from '../method/locked-method.js';
import { type HeldRequest, isWrittenByHand, runInRequest } from '../base/call-context.js';
import { continued, isStreamedBody, whenRead } from '../around/unfinished-result.js';

/**
 * One request inside the lock of its handler: from the grant until everything behind the interceptor has ended, and the response too where
 * that goes on by itself.
 *
 * A value is passed on after the lock was left, so that a client that has the response finds the lock free. What an Observable emits is
 * passed on at once. When the client hangs up, an Observable is unsubscribed from; a handler that runs cannot be stopped, so it keeps the
 * lock to its end.
 */
export class LockedRequest implements HeldRequest {
  isOpen = true;
  private readonly values: unknown[] = [];
  /** True when the values come from an Observable of the handler. */
  private streams: boolean;
  /** True when the response goes on after everything behind the interceptor has ended. */
  private respondsLater: boolean;
  /** What is then read piece by piece, where it is known. */
  private body: unknown;
  private isAbandoned = false;
  private hasEnded = false;
  private behind: Subscription | undefined;

  /** @param sent settles when the response to an HTTP request is over. Undefined for other transports: their last value is the end. */
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

  /** @param handle runs everything behind the interceptor. */
  begin(handle: () => Observable<unknown>): void {
    const { subscriber, scope } = this;
    if (subscriber.closed) return void this.leave('failed');
    subscriber.add(() => this.abandon());
    this.behind = scope.run(() =>
      runInRequest(this, () =>
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
    // Promises only: calling `then` of a lazy query would run it.
    return result instanceof Promise
      ? result.then((value: unknown) => this.noteStream(value))
      : this.noteStream(result);
  }

  private noteStream(result: unknown): unknown {
    if (isObservable(result)) {
      this.streams = true;
      if (this.isAbandoned) this.stop();
      return result;
    }
    if (!isStreamedBody(result)) return result;
    this.respondsLater = true;
    this.body = result;
    // It is read after this interceptor, outside of the flow.
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
      this.passOn();
      await whenRead(this.body, sent);
      return this.leave('failed');
    }
    try {
      await this.leave(this.isAbandoned ? 'failed' : 'worked');
    } catch (lost) {
      return subscriber.error(lost);
    }
    this.passOn();
  }

  private passOn(): void {
    for (const value of this.values) this.subscriber.next(value);
    this.subscriber.complete();
  }

  private async fail(error: unknown): Promise<void> {
    this.hasEnded = true;
    await this.leave('failed');
    this.subscriber.error(error);
  }

  /** The subscriber has unsubscribed. */
  private abandon(): void {
    this.isAbandoned = true;
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
