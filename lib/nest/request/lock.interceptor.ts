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
import { Hidden } from '../../errors/describe.js';
import type { LockScope } from '../../core/lock.js';
import type { LockConnection } from '../../connection/lock.connection.js';
import { connectionToken } from '../../connection/redis-lock.tokens.js';
import { isInsideInterceptor } from '../base/call-context.js';
import { LockedRequest } from './locked-request.js';
import { interceptorRefusals as refusals } from './request.messages.js';
import { lockedHandler } from '../method/method-wrapper.js';
import { requestFlow } from './flow-boundary.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { responseEnd } from '../base/response-end.js';

/**
 * Takes the lock of `@DistributedLock` before the handler's other interceptors (a transaction, a cache) and pipes run. Leaves it when all
 * of them have ended and the response is over: with the end of a promise or Observable; for a stream or `@Res()`, when it was sent, or when
 * the client has hung up and no work is left.
 *
 * Put `@UseInterceptors(LockInterceptor)` first in the list, on a handler or a controller, or provide it as APP_INTERCEPTOR for all. The
 * arguments of the handler do not exist yet, so the key is a function of the ExecutionContext:
 * `@DistributedLock({ key: (context: ExecutionContext) => … })`. Guards have run before.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  private readonly connections = new Map<string, LockConnection>();

  private readonly modules: Hidden<ModuleRef>;

  constructor(@Inject(ModuleRef) modules: ModuleRef) {
    this.modules = new Hidden(modules);
  }

  /** @throws LockConfigurationError at a handler that it cannot lock; then nothing ran. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const method = lockedHandler(context.getClass(), context.getHandler());
    assertLockable(context.getClass(), context.getHandler());
    if (!method?.fitsInterceptor || isInsideInterceptor(context)) return next.handle();
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
        // A call that was given up has no client for a fallback.
        waiting.signal.aborted || !method.allows(error)
          ? throwError(() => error)
          : asObservable(() => method.instead(error, undefined, [given]));
      // What follows belongs to the new flow as well.
      void inFlow(() =>
        enter().then(
          (scope) => new LockedRequest(method, context, scope, subscriber, sent).begin(() => next.handle()),
          (error: unknown) => subscriber.add(refused(error).subscribe(subscriber)),
        ),
      );
    });
  }

  private connectionOf(name: string): LockConnection {
    const known =
      this.connections.get(name) ?? this.modules.reveal().get<LockConnection>(connectionToken(name), { strict: false });
    this.connections.set(name, known);
    return known;
  }
}

/**
 * Checks a handler before the first request.
 * @throws LockConfigurationError for a handler that has LockInterceptor and cannot be locked by it.
 */
export function assertLockable(type: Type, handler: object): void {
  if (!standsAt(handler)) return;
  const method = lockedHandler(type, handler);
  if (!method) throw refusals.nothingToLock(`${type.name}.${(handler as { name: string }).name}`);
  if (!method.fitsInterceptor) throw refusals.template(method.where);
}

/** On a controller or an application it passes over handlers without a lock. On the handler itself it is a mistake. */
function standsAt(handler: object): boolean {
  const interceptors = (Reflect.getMetadata(metadataKeys.interceptors, handler) ?? []) as unknown[];
  return interceptors.some((entry) => entry === LockInterceptor || entry instanceof LockInterceptor);
}

/** As Nest does with the result of a handler. */
const asObservable = (handle: () => unknown): Observable<unknown> =>
  defer(async () => handle()).pipe(mergeMap((result) => (isObservable(result) ? result : of(result))));

/** When the response is over, for HTTP. */
function sendingOf(context: ExecutionContext): Promise<void> | undefined {
  return context.getType() === 'http' ? responseEnd(context.switchToHttp().getResponse()) : undefined;
}

/**
 * The context as a key function gets it. A function that was written for the method's first argument puts it into a string or reads a
 * property that it does not have: it gets an error, instead of one name for all requests.
 */
function strictContext(context: ExecutionContext): ExecutionContext {
  return new Proxy(context, {
    get(target, property) {
      if (!(property in target)) throw refusals.noArgument(nameOf(property));
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A conversion to a string reads a symbol. */
const nameOf = (property: string | symbol): string =>
  typeof property === 'symbol' ? 'text' : `property '${property}'`;
