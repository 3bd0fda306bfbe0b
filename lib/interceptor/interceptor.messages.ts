import { describe } from '../core/describe.js';
import { LockConfigurationError, LockNotAcquiredError } from '../errors/lock-errors.js';

const wrong = (problem: string, cause?: unknown): LockConfigurationError =>
  new LockConfigurationError(problem, { cause });

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

/** Calls of a locked method; where nothing else is said, the method was not run. */
export const callRefusals = {
  /** The instance was not made by Nest: `new`, or a request-scoped or transient `useFactory`. */
  withoutConnection: (method: string, connection: string) =>
    wrong(
      `${method}: this object has no lock connection ('${connection}'), so the method was not run. Nest gives it to what it creates itself: ` +
        'list the class as a provider or controller (in a request-scoped or transient useFactory: make it by ModuleRef.create), and import RedisLockModule.forRoot().',
    ),

  /** It has run, and its Observable was not subscribed to: who would is not known. In a controller the response is waited for instead. */
  lateObservable: (method: string) =>
    wrong(
      `${method}: the method is async and answers an Observable, which runs when the lock has gone. Answer the Observable itself: ` +
        'no async, what is to be awaited inside of it (defer(async () => …)), and the return type Observable<…>.',
    ),

  /** `signal` is a function, and it failed; what it threw is the `cause`. The method was not run. */
  signalThrows: (cause: unknown) =>
    wrong(
      'the function `signal` of the options throws. See the cause; it has to answer an AbortSignal or undefined.',
      cause,
    ),

  /** `signal` is a function, and answered something else. The method was not run. */
  noSignal: (given: unknown) =>
    wrong(
      `the function \`signal\` of the options answered ${describe(given)}; it has to answer an AbortSignal or undefined.`,
    ),

  /** A key function reads what its argument does not have: perhaps it expects the ExecutionContext, and LockInterceptor is not there. What it threw is the `cause`. */
  puzzledKey: (cause: unknown) =>
    wrong(
      'the key function throws a TypeError, see the cause. One that asks for the ExecutionContext needs @UseInterceptors(LockInterceptor) on the handler, and a ' +
        "call that comes through it: not one from code, nor of a GraphQL field without fieldResolverEnhancers: ['interceptors'].",
      cause,
    ),
} as const;

/** `LockInterceptor`; the method was not run. */
export const interceptorRefusals = {
  /** As the application starts, or at the first call of a lazy module: `@UseInterceptors(LockInterceptor)` at a handler without `@DistributedLock`. */
  nothingToLock: (method: string) =>
    wrong(
      `${method}: LockInterceptor has nothing to lock. Put @DistributedLock({ key: (context: ExecutionContext) => … }) on the handler, or leave LockInterceptor out.`,
    ),

  /** As the application starts, or at the first call of a lazy module: LockInterceptor stands at the handler itself, and its key is a template of arguments. */
  template: (method: string) =>
    wrong(
      `${method}: LockInterceptor runs before the arguments are there, so it cannot use a key template. ` +
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
      `${method}: an async iterable is read here when LockInterceptor has long ended. ` +
        'Leave LockInterceptor out and make the key of arguments: then @DistributedLock itself holds the lock while it is iterated.',
    ),

  /** Nobody is there to see it: the client of an HTTP request went while the request waited for its lock. */
  hungUp: (method: string) =>
    new LockNotAcquiredError(
      `${method}: the client hung up while its request waited for the lock. There is nothing to do.`,
    ),
} as const;

/** What Nest itself says, with our words in it, as the application starts. */
export const injectionHints = {
  /** Nest cannot resolve this property of a class with locked methods: no RedisLockModule, or not this connection, can be seen from its module. */
  importModule: (options: string) => `@DistributedLock: import RedisLockModule.forRoot(${options})`,
} as const;
