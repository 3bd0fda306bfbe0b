import { describe } from '../../errors/describe.js';
import { wrong } from '../../errors/configuration.js';

/** The kind of a locked method's result. It must be known before the lock is taken. Refused when the class is loaded. */
export const kindRefusals = {
  /** `function*`. */
  synchronousGenerator: () => wrong('a synchronous generator cannot wait for a lock; make it async.'),

  /** `returns: 'observable'` on an `async` method. */
  contradiction: (stated: string, form: string) =>
    wrong(`returns: '${stated}', but the method is an ${form} function; leave 'returns' out.`),

  /** Declared to return something that is no promise and no Observable; an interface, a union, or a type that was imported with `import type` is lost at run time. */
  declared: (type: string | undefined) =>
    wrong(
      `the method is not async, and ${type === undefined ? 'its return type is lost at run time (an interface, a union, or imported with `import type`)' : `is declared to return ${type}`}: ` +
        "a synchronous method cannot wait for a lock. Write async; or say what it returns: returns: 'promise', 'observable' or 'iterable'.",
    ),

  /** Neither `async` nor with a return type, where the compiler emits types. */
  undeclared: () =>
    wrong(
      'the method is not async and declares no promise: a synchronous method cannot wait for a lock. Write async, or the return type, such as : Promise<…>.',
    ),

  /** Not `async`, and compiled without types: it may return a promise, but nothing says so at run time. */
  untyped: () =>
    wrong(
      'the method is not async, and the build emits no types (esbuild and tsx never do, others need emitDecoratorMetadata): ' +
        "a synchronous method cannot wait for a lock. Write async; or say what it returns: returns: 'promise', 'observable' or 'iterable'.",
    ),

  /** `async` is a helper and a generator in the compiled code. */
  lowered: () =>
    wrong(
      "async was compiled away, and the build emits no types. Raise the build's target to ES2017 or later, or write returns: 'promise'.",
    ),

  /**
   * A job, a queue's processor or an event listener that returns an Observable or iterable: its caller awaits a promise. The application
   * does not start.
   */
  neverRuns: (method: string, kind: string, caller: string) =>
    wrong(
      `@DistributedLock on ${method}: the method returns an ${kind}, which ${caller} never ${kind === 'observable' ? 'subscribes to' : 'iterates'}: ` +
        'it would not run at all. Make it async; lastValueFrom() of rxjs makes a promise of an Observable.',
    ),
} as const;

/** Calls of a locked method. The method did not run, unless a line says otherwise. */
export const callRefusals = {
  /** The instance was not made by Nest: `new`, or a request-scoped or transient `useFactory`. */
  withoutConnection: (method: string, connection: string) =>
    wrong(
      `${method}: this object has no lock connection ('${connection}'), so the method was not run. Nest gives it to what it creates itself: ` +
        'list the class as a provider or controller (in a request-scoped or transient useFactory: make it by ModuleRef.create), and import RedisLockModule.forRoot(). ' +
        'In a unit test: new LockTestBed().connect(object), of nestjs-redis-lock/testing.',
    ),

  /**
   * The method has run, but its Observable was not subscribed to: it would run outside of the lock. In a controller the lock waits for the
   * response instead.
   */
  lateObservable: (method: string) =>
    wrong(
      `${method}: the method is async and returns an Observable, which runs after the lock was released. Return the Observable itself: ` +
        'remove async, await inside of it (defer(async () => …)), and declare the return type Observable<…>.',
    ),

  /** The same with an async generator, none of whose steps has run. */
  lateGenerator: (method: string) =>
    wrong(
      `${method}: the method is async and returns an async generator, whose steps run after the lock was released. Make the method itself ` +
        "the generator (async *), or return the generator without async and write returns: 'iterable'.",
    ),

  /** The same with a stream of Node or a generator. The method has run, and nothing of its result was read. */
  lateResult: (method: string, kind: string) =>
    wrong(
      `${method}: the method returns ${kind}, which is read after the lock was released. Read it to its end inside the method and return what ` +
        'was read; or, if the method returns a file to be sent, return new StreamableFile(stream): the lock is held until it was read.',
    ),

  /** `signal` is a function, and it failed; what it threw is the `cause`. The method was not run. */
  signalThrows: (cause: unknown) =>
    wrong(
      'the function `signal` of the options throws. See the cause; it must return an AbortSignal or undefined.',
      cause,
    ),

  /** `signal` is a function, and returned something else. The method was not run. */
  noSignal: (given: unknown) =>
    wrong(
      `the function \`signal\` of the options returned ${describe(given)}; it must return an AbortSignal or undefined.`,
    ),

  /**
   * A key function reads what its argument does not have: perhaps it expects the ExecutionContext, and LockInterceptor is missing. What it
   * threw is the `cause`.
   */
  puzzledKey: (cause: unknown) =>
    wrong(
      'the key function throws a TypeError, see the cause. One that reads the ExecutionContext needs @UseInterceptors(LockInterceptor) on the handler, and a ' +
        "call that comes through it: not one from code, nor of a GraphQL field without fieldResolverEnhancers: ['interceptors'].",
      cause,
    ),
} as const;
