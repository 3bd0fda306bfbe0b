import { describe, kindOf } from '../errors/describe.js';
import { wrong } from '../errors/configuration.js';

/** Options of a connection: `RedisLockModule.forRoot` and `createLockClient`. Those of a factory are refused as the application starts. */
export const optionRefusals = {
  /** `name` is not a name. */
  noName: (given: unknown, reserved: string) =>
    wrong(`name: ${describe(given)} given; a non-empty string other than '${reserved}' expected.`),

  /** A client as `cluster`. */
  clusterClient: () =>
    wrong('cluster: a client was given; give it as redis, or write cluster: { nodes: [{ host, port }, …] }.'),

  /** `replicas` needs one master. */
  replicasOfCluster: () => wrong('replicas: works with one server or Sentinel, not with a cluster; remove it.'),

  /** A prefix that is not a string. */
  noPrefix: (given: unknown) => wrong(`keyPrefix: ${describe(given)} given, a string expected.`),

  /** `` `${process.env.APP}:` `` where that is not set: this process would share no lock with the others. */
  unsetPrefix: (given: unknown) =>
    wrong(`keyPrefix: ${describe(given)} given; a variable that it is made of is not set, most likely.`),

  /** `backend` and an option of Redis, or `quorum` and `redis`. */
  twoBackends: (option: string, place: string) =>
    wrong(`${option}: cannot be combined with '${place}'; remove one of the two.`),

  /** `commandTimeout` is for one server. */
  timeoutOfNodes: () => wrong('commandTimeout: cannot be combined with quorum; set quorum.nodeTimeout.'),

  /** `replicas` needs one master; a server of a quorum has no replicas. */
  replicasOfNodes: () =>
    wrong('replicas: cannot be combined with quorum; a majority of its servers confirms each lock already.'),

  /** Redisson's locks live on one server, or one slot of a cluster. */
  redissonAndQuorum: () =>
    wrong("redisson: cannot be combined with 'quorum'; use one Redis, Sentinel or a cluster, and remove 'quorum'."),

  /** `quorum` without its servers. */
  noNodes: (given: unknown) =>
    wrong(`quorum.nodes: ${kindOf(given)} given; a list of 3, 5 or 7 independent Redis servers expected.`),

  /** A restarted node could vote again while the default lease runs. */
  shortGuard: (guard: number, lease: number) =>
    wrong(
      `quorum.restartGuard: ${guard} ms is shorter than the lease (${lease} ms): a node that was restarted could vote again while the lease runs. Set at least the longest lease.`,
    ),

  /** A backend without `acquire`. */
  noBackend: (given: unknown) => wrong(`backend: ${describe(given)} given, a LockBackend expected.`),

  /** `createLockClient` with a function, or an object without the three methods. */
  noLog: (given: unknown) =>
    wrong(`log: ${describe(given)} given; an object with the methods log, warn and error expected, such as console.`),
} as const;

/** Calls of the service, and of a client. */
export const serviceRefusals = {
  /** `using` without a function. */
  noWork: (type: string, given: unknown) =>
    wrong(
      `${type}.using: ${describe(given)} given in place of the function to run under the lock; write using(key, () => …).`,
    ),

  /** The function has run, but its result has not: its reader would do that work outside of the lock. */
  lateResult: (call: string, kind: string) =>
    wrong(
      `${call}: the function returned ${kind}, whose work is done after the lock was released. Read it to its end inside the function, or hold the lock until then: await using lock = await locks.acquire(key).`,
    ),

  /** `adopt` with a value that is no function behind the options. */
  noAdoptedWork: (given: unknown) =>
    wrong(`${describe(given)} given in place of the function to run under the lock; write adopt(ticket, () => …).`),
} as const;

/** The start of a connection. */
export const connectionRefusals = {
  /** One `backend` object for two connections or applications. */
  backendInUse: (connection: string) =>
    wrong(
      `The backend of the lock connection '${connection}' cannot be used: another client uses it already. ` +
        'Give each application and each connection one of its own; in Nest: forRootAsync({ useFactory: () => ({ backend: new … }) }).',
    ),

  /** A class with locked methods, or one that injects `RedisLockService`, is of another copy than the module: each has classes of its own. */
  twoCopies: (ofModule: string, ofClass: string) =>
    wrong(
      `Two copies of nestjs-redis-lock are loaded. RedisLockModule is of ${ofModule}, and a class with locks is of ${ofClass}. ` +
        'Make nestjs-redis-lock a peer dependency of the shared package, and use one version of ioredis and of Nest: pnpm makes a copy for each combination.',
    ),
} as const;

/** Log lines as the application starts, one for each connection. `reason` is one of the messages of Redis below. */
export const startLines = {
  /** Redis did not answer. */
  unreachable: (connection: string, reason: string) =>
    `Lock connection '${connection}': ${reason} The library keeps trying; until it connects, locks reject with LOCK_UNAVAILABLE.`,

  /** Redis did not answer, with `strict`. */
  notStarted: (connection: string, reason: string) =>
    `Lock connection '${connection}': ${reason} The application does not start (option strict).`,

  /** Redis refuses what the locks need: with or without `strict`. */
  refused: (connection: string, reason: string) =>
    `Lock connection '${connection}': ${reason} The application does not start.`,
} as const;
