import { LockConfigurationError } from '../errors/lock-errors.js';

const wrong = (problem: string): LockConfigurationError => new LockConfigurationError(problem);

/** What a locked method answers: it must be known before the lock is there. Refused when the class is loaded. */
export const kindRefusals = {
  /** `function*`. */
  synchronousGenerator: () => wrong('a synchronous generator cannot wait for a lock; make it async.'),

  /** `returns: 'observable'` on an `async` method. */
  contradiction: (stated: string, form: string) =>
    wrong(`returns: '${stated}', but the method is an ${form} function; leave 'returns' out.`),

  /** Neither `async` nor declared to return a promise or an Observable. */
  synchronous: (declared: string) =>
    wrong(
      `${declared}, and a synchronous method cannot wait for a lock. Make it async; or, when it returns a promise, ` +
        "an Observable or an async iterable, say so: returns: 'promise', 'observable' or 'iterable'.",
    ),

  /** A job, a queue's processor or an event listener that answers an Observable or iterable: whoever calls those awaits a promise. The application does not start. */
  neverRuns: (method: string, kind: string, caller: string) =>
    wrong(
      `@DistributedLock on ${method}: the method answers an ${kind}, which ${caller} never ${kind === 'observable' ? 'subscribes to' : 'iterates'}: ` +
        'it would not run at all. Make it async; lastValueFrom() of rxjs makes a promise of an Observable.',
    ),
} as const;

/** Calls of a locked method; the method was not run. */
export const callRefusals = {
  /** The instance was not made by Nest: `new`, or a request-scoped or transient `useFactory`. */
  withoutConnection: (method: string, connection: string) =>
    wrong(
      `${method}: this object has no lock connection ('${connection}'), so the method was not run. Nest gives it to what it creates itself: ` +
        'list the class as a provider or controller (in a request-scoped or transient useFactory: make it by ModuleRef.create), and import RedisLockModule.forRoot().',
    ),
} as const;

/** What Nest itself says, with our words in it, as the application starts. */
export const injectionHints = {
  /** Nest cannot resolve this property of a class with locked methods: no RedisLockModule, or not this connection, can be seen from its module. */
  importModule: (options: string) => `@DistributedLock: import RedisLockModule.forRoot(${options})`,
} as const;
