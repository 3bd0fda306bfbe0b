import { describe } from '../core/describe.js';
import { LockConfigurationError } from '../errors/lock-errors.js';

const wrong = (problem: string): LockConfigurationError => new LockConfigurationError(problem);

/** `@DistributedLock` where it cannot stand: refused when the class is loaded, as `@DistributedLock on Class.method: …`. */
export const decoratorRefusals = {
  /** On a static method. */
  staticMethod: () => wrong('a static method is not bound to a Nest application; use an instance method.'),

  /** On a getter, a setter or a property. */
  noMethod: () =>
    wrong('only methods can be locked, no accessors or properties; lock the method that reads or writes.'),

  /** Two of them on one method. */
  twice: () =>
    wrong('one @DistributedLock for a method; take the second lock inside it, or with RedisLockService.using.'),

  /** `connection` is no name. */
  noConnection: (given: unknown) =>
    wrong(`connection: ${describe(given)} given; write the name that RedisLockModule.forRoot({ name }) has.`),

  /** `onContended` is something else. */
  noContended: (given: unknown) =>
    wrong(
      `onContended: ${describe(given)} given; write 'throw', 'skip', or a function of the error and the arguments.`,
    ),

  /** `onContended: 'skip'` on a route handler with `@Res()` or `@Next()`, which Nest leaves to answer by itself. */
  skippedResponse: () =>
    wrong(
      "onContended: 'skip' on a handler that writes its response itself (@Res(), @Next()): nobody would answer the request. " +
        'Write a function that answers, or @Res({ passthrough: true }).',
    ),
} as const;
