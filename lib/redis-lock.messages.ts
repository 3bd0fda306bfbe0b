import { describe } from './core/describe.js';
import { LockConfigurationError } from './errors/lock-errors.js';

const wrong = (problem: string): LockConfigurationError => new LockConfigurationError(problem);

/** Options of the module: refused by `forRoot` at once, and as the application starts for what a factory answers. */
export const moduleRefusals = {
  /** None, or more than one of them. */
  noSource: () => wrong('give one of useFactory, useClass and useExisting.'),

  /** A factory without `return`, most likely. */
  noAnswer: (given: unknown) => wrong(`the factory answered ${describe(given)}; let it return the options, or {}.`),

  /** `name` is no name. */
  noName: (given: unknown, reserved: string) =>
    wrong(`name: ${describe(given)} given; a non-empty string other than '${reserved}' expected.`),

  /** ioredis would take it, and connect to this machine. A string is not shown: it may hold a password. */
  noRedis: (option: string, given: string) =>
    wrong(
      `${option}: ${given} given; a URL such as 'redis://127.0.0.1:6379', the path of a socket, ioredis options or an ioredis client expected.`,
    ),

  /** A client as `cluster`. */
  clusterClient: () =>
    wrong('cluster: a client was given; give it as redis, or write cluster: { nodes: [{ host, port }, …] }.'),

  /** `replicas` is for one master. */
  replicasOfCluster: () => wrong('replicas: works with one server or Sentinel, not with a cluster; leave it out.'),

  /** A prefix that is no string. */
  noPrefix: (given: unknown) => wrong(`keyPrefix: ${describe(given)} given, a string expected.`),

  /** `name` or `isGlobal` in what a factory answers. */
  besideFactory: (option: string) =>
    wrong(`${option}: stands beside the factory, forRootAsync({ ${option}, useFactory }), not in its answer.`),

  /** `backend` and an option of Redis, or `quorum` and `redis`. */
  twoPlaces: (option: string, place: string) =>
    wrong(`${option}: stands beside '${place}'; the locks live in one place, give one of the two.`),

  /** `commandTimeout` is for one server. */
  timeoutOfNodes: () => wrong('commandTimeout: stands beside quorum; give quorum.nodeTimeout.'),

  /** `replicas` are of one master; a server of a quorum has none. */
  replicasOfNodes: () =>
    wrong('replicas: stands beside quorum; a majority of its servers confirms every lock already.'),

  /** `quorum` without its servers. */
  noNodes: (given: unknown) =>
    wrong(`quorum.nodes: ${describe(given)} given; a list of 3, 5 or 7 independent Redis servers expected.`),

  /** A restarted node could vote again while the default lease runs. */
  shortGuard: (guard: number, lease: number) =>
    wrong(
      `quorum.restartGuard: ${guard} ms is shorter than the lease (${lease} ms): a node that was restarted could vote again while it runs. Give at least the longest lease.`,
    ),

  /** `ignoreFindings` is neither `'all'` nor a list. */
  noFindings: (given: unknown) =>
    wrong(`ignoreFindings: ${describe(given)} given; write 'all', or codes: ['LOCK_DOCTOR_PERSISTENCE', …].`),

  /** A backend without `acquire`. */
  noBackend: (given: unknown) => wrong(`backend: ${describe(given)} given, a LockBackend expected.`),
} as const;

/** The application as a whole: it does not start. */
export const applicationRefusals = {
  /** A method asks for a connection that no module has. */
  missingConnection: (type: string, connection: string, options: string) =>
    wrong(
      `${type}: @DistributedLock asks for the connection '${connection}'; import RedisLockModule.forRoot(${options}).`,
    ),

  /** Two modules with one name. */
  twice: (connection: string) =>
    wrong(
      `RedisLockModule: the connection '${connection}' is there twice. Import forRoot once for each connection, or give one of them another name.`,
    ),

  /** `limit` at a method whose connection is a quorum: majorities of servers cannot count permits together. */
  noPermits: (where: string) =>
    wrong(
      `@DistributedLock on ${where}: limit: permits cannot be counted over a quorum of servers. Give the method another connection (option connection) with one server, or leave limit out.`,
    ),

  /** One `backend` object for two connections or applications. */
  backendInUse: (connection: string) =>
    wrong(
      `RedisLockModule: the backend of the connection '${connection}' cannot be used, another client uses it already. ` +
        'Give each application and each connection one of its own: forRootAsync({ useFactory: () => ({ backend: new … }) }).',
    ),
} as const;

/** Calls of the service. */
export const serviceRefusals = {
  /** `using` without a function. */
  noWork: (given: unknown) =>
    wrong(
      `RedisLockService.using: ${describe(given)} given where the work to run under the lock stands; write using(key, () => …).`,
    ),

  /** `adopt` with something else than a function behind the options. */
  noAdoptedWork: (given: unknown) =>
    wrong(`${describe(given)} given where the work to run under the lock stands; write adopt(ticket, () => …).`),
} as const;

/** Lines in the log as the application starts; `reason` is one of the messages of Redis below. */
export const startLines = {
  /** Redis could not be asked. */
  unreachable: (connection: string, reason: string) =>
    `Redis of the lock connection '${connection}' cannot be reached: ${reason} Locks reject with LOCK_UNAVAILABLE until it is there.`,

  /** Redis could not be asked, with `strict`. */
  notStarted: (connection: string, reason: string) =>
    `Redis of the lock connection '${connection}' cannot be reached: ${reason} The application does not start (option strict).`,

  /** Redis answered, and refuses what the locks need: with or without `strict`. */
  refused: (connection: string, reason: string) =>
    `Redis of the lock connection '${connection}' cannot be used: ${reason} The application does not start.`,
} as const;
