import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Observable, defer, isObservable, mergeMap, of, throwError } from 'rxjs';
import type { LockScope } from '../core/lock-scope.js';
import type { LockConnection } from '../redis-lock.connection.js';
import { connectionToken } from '../redis-lock.tokens.js';
import { isPassing } from './handler-passage.js';
import { HandlerStay } from './handler-stay.js';
import { interceptorRefusals as refusals } from './interceptor.messages.js';
import { lockedHandler } from './method-wrapper.js';
import { requestFlow } from './request-flow.js';
import { responseEnd } from './response-end.js';
import { strictContext } from './strict-context.js';

/**
 * Takes the lock of `@DistributedLock` before the handler's other interceptors (a transaction, a cache) and pipes run, and leaves
 * it when all of them have ended and the response is over: a promise or Observable with its end, a stream or `@Res()` when it
 * was sent, or when the client has hung up and no work is left.
 *
 * `@UseInterceptors(LockInterceptor)` first in the list, on a handler or a controller, or as APP_INTERCEPTOR for all of them. The
 * arguments of the handler are not there yet, so the key is a function of the ExecutionContext:
 * `@DistributedLock({ key: (context: ExecutionContext) => … })`. Guards have run before.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  private readonly connections = new Map<string, LockConnection>();

  constructor(@Inject(ModuleRef) private readonly modules: ModuleRef) {}

  /** @throws LockConfigurationError where it stands at a handler that it cannot lock; then nothing was run. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const method = lockedHandler(context.getClass(), context.getHandler());
    assertLockable(context.getClass(), context.getHandler());
    if (!method?.fitsInterceptor || isPassing(context)) return next.handle();
    if (method.kind === 'iterable' && context.getType() !== 'http') throw refusals.iterable(method.where);
    const connection = this.connectionOf(method.connection);
    const inFlow = requestFlow(context);
    return new Observable((subscriber) => {
      const sent = sendingOf(context);
      const waiting = new AbortController();
      let isWaiting = true;
      void sent?.then(() => isWaiting && waiting.abort(refusals.hungUp(method.where)));
      subscriber.add(() => isWaiting && waiting.abort());
      const given = strictContext(context);
      const enter = async (): Promise<LockScope> => {
        try {
          return await method.enterWith(connection, given, waiting.signal);
        } finally {
          isWaiting = false;
        }
      };
      const refused = (error: unknown): Observable<unknown> =>
        // Nobody waits for the answer of a call that was given up.
        waiting.signal.aborted || !method.allows(error)
          ? throwError(() => error)
          : asObservable(() => method.instead(error, undefined, [given]));
      // With what follows: it belongs to the new flow as well.
      void inFlow(() =>
        enter().then(
          (scope) => new HandlerStay(method, context, scope, subscriber, sent).begin(() => next.handle()),
          (error: unknown) => subscriber.add(refused(error).subscribe(subscriber)),
        ),
      );
    });
  }

  private connectionOf(name: string): LockConnection {
    const known =
      this.connections.get(name) ?? this.modules.get<LockConnection>(connectionToken(name), { strict: false });
    this.connections.set(name, known);
    return known;
  }
}

/**
 * What can be known before the first request.
 * @throws LockConfigurationError for a handler at which LockInterceptor stands, and that it cannot lock.
 */
export function assertLockable(type: Type, handler: object): void {
  if (!standsAt(handler)) return;
  const method = lockedHandler(type, handler);
  if (!method) throw refusals.nothingToLock(`${type.name}.${(handler as { name: string }).name}`);
  if (!method.fitsInterceptor) throw refusals.template(method.where);
}

/** Of a whole controller, and of an application, some handlers may be none of its business; where it stands by itself, it is meant. */
function standsAt(handler: object): boolean {
  // What Nest keeps under this name has not changed since its first version.
  const interceptors = (Reflect.getMetadata('__interceptors__', handler) ?? []) as unknown[];
  return interceptors.some((entry) => entry === LockInterceptor || entry instanceof LockInterceptor);
}

/** As Nest does with what a handler answers. */
const asObservable = (handle: () => unknown): Observable<unknown> =>
  defer(async () => handle()).pipe(mergeMap((result) => (isObservable(result) ? result : of(result))));

/** When the response is over, for HTTP. */
function sendingOf(context: ExecutionContext): Promise<void> | undefined {
  return context.getType() === 'http' ? responseEnd(context.switchToHttp().getResponse()) : undefined;
}
