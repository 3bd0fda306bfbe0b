import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';

/** A request on its way from LockInterceptor, which holds the lock of its handler, to that handler. */
export interface HandlerPassage {
  /** What `@DistributedLock` knows of the handler. */
  readonly method: object;
  readonly context: ExecutionContext;
  /** Whether the lock was not left yet. */
  readonly isOpen: boolean;
  /** Runs the handler under the lock that is held. @throws LockLostError when it was lost on the way; then nothing ran. */
  run(work: () => unknown): unknown;
}

const passages = new AsyncLocalStorage<HandlerPassage>();

export const inPassage = <T>(passage: HandlerPassage, fn: () => T): T => passages.run(passage, fn);

/** The passage that a call of this method came through. One that was left is none: such a call takes the lock itself. */
export function passageTo(method: object): HandlerPassage | undefined {
  const passage = passages.getStore();
  return passage?.method === method && passage.isOpen ? passage : undefined;
}

/** Whether LockInterceptor holds the lock of this request already: it may stand at the handler, the class and the application. */
export const isPassing = (context: ExecutionContext): boolean => passages.getStore()?.context === context;
