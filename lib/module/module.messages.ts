import { describe } from '../core/describe.js';
import { wrong } from '../errors/configuration.js';

/** Options of the module. `forRoot` refuses them at once. Those of a factory are refused as the application starts. */
export const moduleRefusals = {
  /** None, or more than one of them. */
  noSource: () => wrong('give one of useFactory, useClass and useExisting.'),

  /** A factory without `return`, most likely. */
  noAnswer: (given: unknown) => wrong(`the factory returned ${describe(given)}; let it return the options, or {}.`),

  /** `name` is not a name. */
  noName: (given: unknown, reserved: string) =>
    wrong(`name: ${describe(given)} given; a non-empty string other than '${reserved}' expected.`),

  /** ioredis would accept it, and connect to this machine. A string is not shown: it may contain a password. */
  noRedis: (option: string, given: string) =>
    wrong(
      `${option}: ${given} given; a URL such as 'redis://127.0.0.1:6379', the path of a socket, ioredis options or an ioredis client expected.`,
    ),

  /** ioredis would ignore it, and connect to this machine. */
  foreignOption: (option: string, name: string) =>
    wrong(
      `${option}: ioredis has no option '${name}'. Write ${option === 'redis' ? 'redis: url' : 'the URL itself'}, or ioredis' own options: { host, port, username, password, tls }. For a Redis Cluster write cluster: { nodes }.`,
    ),

  /** A client as `cluster`. */
  clusterClient: () =>
    wrong('cluster: a client was given; give it as redis, or write cluster: { nodes: [{ host, port }, …] }.'),

  /** `replicas` needs one master. */
  replicasOfCluster: () => wrong('replicas: works with one server or Sentinel, not with a cluster; remove it.'),

  /** A prefix that is not a string. */
  noPrefix: (given: unknown) => wrong(`keyPrefix: ${describe(given)} given, a string expected.`),

  /** `name` or `isGlobal` in the result of a factory. */
  besideFactory: (option: string) =>
    wrong(`${option}: belongs beside the factory, forRootAsync({ ${option}, useFactory }), not in its result.`),

  /** `backend` and an option of Redis, or `quorum` and `redis`. */
  twoBackends: (option: string, place: string) =>
    wrong(`${option}: cannot be combined with '${place}'; remove one of the two.`),

  /** `commandTimeout` is for one server. */
  timeoutOfNodes: () => wrong('commandTimeout: cannot be combined with quorum; set quorum.nodeTimeout.'),

  /** `replicas` needs one master; a server of a quorum has no replicas. */
  replicasOfNodes: () =>
    wrong('replicas: cannot be combined with quorum; a majority of its servers confirms each lock already.'),

  /** `quorum` without its servers. */
  noNodes: (given: unknown) =>
    wrong(`quorum.nodes: ${describe(given)} given; a list of 3, 5 or 7 independent Redis servers expected.`),

  /** A restarted node could vote again while the default lease runs. */
  shortGuard: (guard: number, lease: number) =>
    wrong(
      `quorum.restartGuard: ${guard} ms is shorter than the lease (${lease} ms): a node that was restarted could vote again while the lease runs. Set at least the longest lease.`,
    ),

  /** `ignoreFindings` is neither `'all'` nor a list. */
  noFindings: (given: unknown) =>
    wrong(`ignoreFindings: ${describe(given)} given; write 'all', or codes: ['LOCK_DOCTOR_PERSISTENCE', …].`),

  /** A backend without `acquire`. */
  noBackend: (given: unknown) => wrong(`backend: ${describe(given)} given, a LockBackend expected.`),
} as const;

/** The application as a whole: it does not start. */
export const applicationRefusals = {
  /** A method names a connection that no module has. */
  missingConnection: (type: string, connection: string, options: string) =>
    wrong(
      `${type}: @DistributedLock names the connection '${connection}'; import RedisLockModule.forRoot(${options}), or in a test RedisLockTestingModule.forRoot(${options}).`,
    ),

  /** Two modules with one name. */
  twice: (connection: string) =>
    wrong(
      `RedisLockModule: the connection '${connection}' exists twice. Import forRoot once for each connection, or give one of them another name.`,
    ),

  /** `limit` at a method whose connection is a quorum: majorities of servers cannot count permits together. */
  noPermits: (where: string) =>
    wrong(
      `@DistributedLock on ${where}: limit: permits cannot be counted over a quorum of servers. Give the method another connection (option connection) with one server, or remove limit.`,
    ),
} as const;
