import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { requestFlow } from './request-flow.js';
import { noteRequest } from './rpc-requests.js';

/**
 * Every request, message or event starts a new flow. Without it a server that was started inside a hold hands that hold on
 * to everything it answers (the async context of `listen()` is that of its connections), and two requests share one lock.
 */
@Injectable()
export class FlowBoundaryInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    noteRequest(context);
    const inFlow = requestFlow(context);
    // The handler runs inside `handle()`, an Observable that it returned inside `subscribe()`: both belong to the new flow.
    return new Observable((subscriber) => inFlow(() => next.handle().subscribe(subscriber)));
  }
}
