import type { ExecutionContext } from '@nestjs/common';

/** What @nestjs/microservices writes on its handlers; not imported, it is optional. */
const handlerType = 'microservices:handler_type';
const event = 2;

const requests = new WeakSet<object>();

/** Remembers a message whose sender waits for the answer. An event has none: what its handler fails with is seen by nobody. */
export function noteRequest(context: ExecutionContext): void {
  if (context.getType() !== 'rpc' || Reflect.getMetadata(handlerType, context.getHandler()) === event) return;
  const message: unknown = context.switchToRpc().getContext();
  if (typeof message === 'object' && message !== null) requests.add(message);
}

/** @param message the transport's context of a message. False also where that is not known. */
export const isRequest = (message: unknown): boolean => requests.has(message as object);
