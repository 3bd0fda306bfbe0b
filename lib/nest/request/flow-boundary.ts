import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { startFlow } from '../../core/lock-flow.js';
import { metadataKeys } from '../base/metadata-keys.js';
import { inRequest } from '../base/call-context.js';

/**
 * Every request, message or event starts a new flow. Without it, a server that began to listen inside a hold passes that hold on
 * to each request (the async context of `listen()` is that of its connections), and two requests share one lock.
 */
@Injectable()
export class FlowBoundaryInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    noteAwaitedMessage(context);
    const inFlow = requestFlow(context);
    // The handler runs inside `handle()`, an Observable that it returned inside `subscribe()`: both belong to the new flow.
    return new Observable((subscriber) => inFlow(() => next.handle().subscribe(subscriber)));
  }
}

const begun = new WeakSet<ExecutionContext>();

/**
 * Runs the rest of a request in a flow of its own. The first interceptor that calls it begins the flow, in any order: a second flow inside
 * would hide the locks that were taken between them.
 * @param context the one that Nest makes for each request, message or event, and passes to all of its interceptors.
 */
export function requestFlow(context: ExecutionContext): <T>(fn: () => T) => T {
  if (begun.has(context)) return (fn) => fn();
  begun.add(context);
  return (fn) => startFlow(() => inRequest(context, fn));
}

/** What @nestjs/microservices calls the handler of an event. */
const eventHandler = 2;

const awaited = new WeakSet<object>();

/** Remembers a message whose sender waits for the answer. An event has no such sender. */
function noteAwaitedMessage(context: ExecutionContext): void {
  if (context.getType() !== 'rpc') return;
  if (Reflect.getMetadata(metadataKeys.messageHandlerType, context.getHandler()) === eventHandler) return;
  const message: unknown = context.switchToRpc().getContext();
  if (typeof message === 'object' && message !== null) awaited.add(message);
}

/** @param message the transport's context of a message. False also for one that passed no interceptor of ours. */
export const isAwaited = (message: unknown): boolean => awaited.has(message as object);
