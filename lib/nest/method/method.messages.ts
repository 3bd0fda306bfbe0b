import { describe } from '../../errors/describe.js';
import { wrong } from '../../errors/configuration.js';

/** `@DistributedLock` with wrong options. Refused when the class is loaded, as `@DistributedLock on Class.method: …`. */
export const decoratorRefusals = {
  /** Options beside the name: builds that check no types would run the method with the defaults. */
  twoArguments: () =>
    wrong("two arguments given; options are one object with the name in it: { key: 'product:#{id}', wait: '5s' }."),

  /** Two of them on one method. */
  twice: () =>
    wrong('a method takes one @DistributedLock; take the second lock inside it, or with RedisLockService.using.'),

  /** `onContended` is another value. */
  noContended: (given: unknown) =>
    wrong(
      `onContended: ${describe(given)} given; write 'throw', 'skip', or a function of the error and the arguments.`,
    ),

  /** `onContended: 'skip'` on a route handler with `@Res()` or `@Next()`, which Nest leaves to send its own response. */
  skippedResponse: () =>
    wrong(
      "onContended: 'skip' on a handler that writes its response itself (@Res(), @Next()): the request would get no response. " +
        'Write a function that sends one, or @Res({ passthrough: true }).',
    ),
} as const;

/** Our words inside an error of Nest, as the application starts. */
export const injectionHints = {
  /** Nest cannot resolve this property of a class with locked methods: its module sees no RedisLockModule, or not this connection. */
  importModule: (options: string) =>
    `nestjs-redis-lock: import RedisLockModule.forRoot(${options}); in a test RedisLockTestingModule.forRoot(${options}) of nestjs-redis-lock/testing`,
} as const;
