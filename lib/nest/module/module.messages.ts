import { describe } from '../../errors/describe.js';
import { wrong } from '../../errors/configuration.js';

/** Options of the module. `forRoot` refuses them at once. Those of a factory are refused as the application starts. */
export const moduleRefusals = {
  /** None, or more than one of them. */
  noSource: () => wrong('give one of useFactory, useClass and useExisting.'),

  /** `useFactory: {}`, `useClass: new Options()`. */
  noFactory: (source: string, given: unknown) =>
    wrong(`${source}: ${describe(given)} given, a ${source === 'useFactory' ? 'function' : 'class'} expected.`),

  /** A class for `useClass` or `useExisting` without the method that makes the options. */
  noMethod: () => wrong('the class has no method createRedisLockOptions; let it implement RedisLockOptionsFactory.'),

  /** A factory without `return`, most likely. */
  noResult: (given: unknown) => wrong(`the factory returned ${describe(given)}; let it return the options, or {}.`),

  /** `name` or `isGlobal` in the result of a factory. */
  besideFactory: (option: string) =>
    wrong(`${option}: belongs beside the factory, forRootAsync({ ${option}, useFactory }), not in its result.`),

  /** `ignoreFindings` is neither `'all'` nor a list. */
  noFindings: (given: unknown) =>
    wrong(`ignoreFindings: ${describe(given)} given; write 'all', or codes: ['LOCK_DOCTOR_PERSISTENCE', …].`),
} as const;

/** The application as a whole: it does not start. */
export const applicationRefusals = {
  /** A method names a connection that no module has. */
  missingConnection: (type: string, connection: string, options: string) =>
    wrong(
      `${type}: a decorator names the connection '${connection}'; import RedisLockModule.forRoot(${options}), or in a test RedisLockTestingModule.forRoot(${options}).`,
    ),

  /** Two modules with one name. */
  twice: (connection: string) =>
    wrong(
      `RedisLockModule: the connection '${connection}' exists twice. Import forRoot once for each connection, or give one of them another name.`,
    ),

  /** `limit` at a method whose connection is a quorum (majorities of servers cannot count permits together), or has the option `redisson`. */
  noPermits: (where: string) =>
    wrong(
      `@DistributedLock on ${where}: limit: permits cannot be counted over a quorum of servers, nor in the format of Redisson's locks. Give the method another connection (option connection) with one server, or remove limit.`,
    ),

  /** `shared` at a method whose connection has the option `redisson`: Redisson's RLock has one holder. */
  noShared: (where: string) =>
    wrong(
      `@DistributedLock on ${where}: shared: Redisson's locks have one holder (option redisson). Give the method another connection (option connection), or remove shared.`,
    ),
} as const;
