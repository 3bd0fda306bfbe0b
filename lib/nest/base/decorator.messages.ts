import { describe } from '../../errors/describe.js';
import { wrong } from '../../errors/configuration.js';

/** Our decorators in a wrong place. Refused when the class is loaded, as `@DistributedLock on Class.method: …`. */
export const placeRefusals = {
  /** `@DistributedLock` in place of `@DistributedLock('…')`: builds that check no types would run the method without a lock. */
  uncalled: (example: string) => wrong(`without brackets a decorator does nothing; write ${example}.`),

  /** Without `experimentalDecorators` TypeScript, esbuild, tsx and Deno compile standard decorators, which Nest cannot use. */
  standardDecorator: () =>
    wrong(
      'compiled as a standard decorator. Nest needs the decorators of TypeScript: set experimentalDecorators: true and emitDecoratorMetadata: true in the compilerOptions of tsconfig.json.',
    ),

  /** On a static method. */
  staticMethod: () => wrong('a static method is not bound to a Nest application; use an instance method.'),

  /** On a class, a getter, a setter, a property or a parameter. */
  noMethod: () =>
    wrong(
      'it is for methods, not for classes, accessors, properties or parameters; decorate each method that does the work.',
    ),

  /** `connection`, or the argument of `@InjectRedisLock`, is not a name. */
  noConnection: (option: string, given: unknown) =>
    wrong(`${option}: ${describe(given)} given; write the name that RedisLockModule.forRoot({ name }) has.`),

  /** `@InjectRedisLock` on a class, a method or an accessor. */
  noInjection: () => wrong('it is for parameters of a constructor, and for properties.'),
} as const;
