import { wrong } from '../../errors/configuration.js';
import { LockNotAcquiredError } from '../../errors/lock-errors.js';

/** `LockInterceptor`. The method did not run. */
export const interceptorRefusals = {
  /** As the application starts, or at the first call of a lazy module: `@UseInterceptors(LockInterceptor)` at a handler without `@DistributedLock`. */
  nothingToLock: (method: string) =>
    wrong(
      `${method}: LockInterceptor has nothing to lock. Put @DistributedLock({ key: (context: ExecutionContext) => … }) on the handler, or leave LockInterceptor out.`,
    ),

  /** As the application starts, or at the first call of a lazy module: LockInterceptor stands at the handler itself, and its key is a template of arguments. */
  template: (method: string) =>
    wrong(
      `${method}: LockInterceptor runs before the arguments exist, so it cannot use a key template. ` +
        'Write @DistributedLock({ key: (context: ExecutionContext) => … }), or leave LockInterceptor out.',
    ),

  /** A function was written for arguments, and takes the context for the first of them. */
  noArgument: (property: string) =>
    wrong(
      `the ExecutionContext has no ${property}. Under LockInterceptor a function gets the ExecutionContext, not the arguments of the method: ` +
        'write context.switchToHttp().getRequest(); for a key made of arguments, leave LockInterceptor out.',
    ),

  /** `async *` in a microservice, a gateway or a GraphQL subscription. */
  iterable: (method: string) =>
    wrong(
      `${method}: an async iterable is read here after LockInterceptor has ended. ` +
        'Leave LockInterceptor out and make the key of arguments: then @DistributedLock itself holds the lock while it is iterated.',
    ),

  /** The client of an HTTP request hung up while the request waited for its lock, so no client sees this error. */
  hungUp: (method: string) =>
    new LockNotAcquiredError(
      `${method}: the client hung up while its request waited for the lock. There is nothing to do.`,
    ),
} as const;
