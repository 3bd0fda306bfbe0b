import { describe, kindOf, nameOf, printable } from '../../errors/describe.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { wrong } from '../../errors/configuration.js';
import { LockConfigurationError, LockUnavailableError } from '../../errors/lock-errors.js';

/** Names the lock in a message about one lock. */
const subject = (key: string | undefined): string => (key === undefined ? '' : `Lock ${printable(key)}: `);

/** Commands to Redis. `address` is host and port, never user or password. */
export const redisRefusals = {
  /** `renewFrom: 'worker'`: the thread gets a copy of the connection's options. A function, or an object of a class, has none. */
  notCloneable: (path: string) =>
    wrong(
      `renewFrom: 'worker': ${path} cannot be copied to a worker thread. Write this option as plain values, remove it, or remove renewFrom.`,
    ),

  /** The connection has been down for longer than `commandTimeout` (or than `wait`), or never came up. `why` is the last reason: refused, timed out, a permission. */
  notConnected: (key: string | undefined, address: string, why: string) =>
    new LockUnavailableError(
      `${subject(key)}Redis at ${address} is not connected${why}. Check that it runs and can be reached; the library keeps trying.`,
      { key },
    ),

  /** As the application starts, before the first command. `why` as above. */
  unreachable: (address: string, why: string) =>
    new LockUnavailableError(
      `Redis at ${address} cannot be reached (${why}). Check that it runs, and its host and port.`,
    ),

  /**
   * The command was under way when the connection broke or timed out. If Redis is well, the cause is a blocked event loop, or a long
   * command in Redis.
   */
  noAnswer: (key: string | undefined, address: string, why: string, cause: Error) =>
    new LockUnavailableError(
      `${subject(key)}Redis at ${address} did not answer (${why}). Check Redis, what blocks this event loop, and commandTimeout.`,
      { key, cause, uncertain: true },
    ),

  /** A proxy between the application and Redis changes replies, or the server differs from Redis. The connection is replaced. */
  unexpected: (key: string | undefined, address: string, what: string, cause: Error) =>
    new LockUnavailableError(
      `${subject(key)}Redis at ${address} sent a reply that this library does not know: ${what}. Check what is between the application and Redis (proxy, service mesh), and which server it is.`,
      { key, cause, uncertain: true },
    ),

  /** Redis refused the command: out of memory, not enough replicas, still loading after `wait`. */
  answered: (key: string | undefined, address: string, answer: string, cause: Error) =>
    new LockUnavailableError(
      `${subject(key)}Redis at ${address} replied ${printable(answer)}. Fix what the reply says.`,
      { key, cause, uncertain: false },
    ),

  /** The server requires a password, and none was given. */
  noPassword: (key: string | undefined, address: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}Redis at ${address} requires a password (NOAUTH). Set password, and username where there is one, in redis, or in its URL: redis://user:password@host.`,
      { key, cause },
    ),

  /** The password is wrong, or the user is unknown or off. */
  wrongPassword: (key: string | undefined, address: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}Redis at ${address} refuses the password (WRONGPASS). Check username and password in redis, or in its URL.`,
      { key, cause },
    ),

  /**
   * `NOPERM`: [the smallest ACL](https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/production.md#the-smallest-acl).
   * Once the permission is granted, the library tries again within 5 s.
   */
  refused: (key: string | undefined, address: string, answer: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}Redis at ${address} refuses what the lock needs: ${answer}; the smallest ACL: https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/production.md#the-smallest-acl`,
      { key, cause },
    ),

  /** The server has no database of this number, is a cluster, or does not let the user choose one. */
  noDatabase: (address: string, db: number | undefined, answer: string, cause: Error) =>
    new LockConfigurationError(
      `Redis at ${address} refuses the database ${db}: ${answer}. Set db, or the number in the URL, to a database that the server has; a cluster has only 0.`,
      { cause },
    ),

  /** The lock's key has a value of another program, which stays as it is. In Redisson's format the key is the name itself. */
  foreign: (key: string | undefined, address: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}its key in Redis at ${address} has a value that is not a lock, and may be data of another program: it was left as it is. Choose another name for the lock, or another keyPrefix for locks.`,
      { key, cause },
    ),

  /**
   * The key from which tokens are counted has a number beyond 2⁵³ - 1, or none: this library writes neither. Tokens do not begin again by
   * themselves: a resource that has seen a larger one would refuse them.
   */
  tokens: (key: string | undefined, address: string, counter: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}key ${printable(counter)} in Redis at ${address} has no number from which tokens can go on; the largest token is 2^53 - 1. Find out what wrote it, and move it away if another program needs it. Then delete the key, and set back the tokens that resources keep.`,
      { key, cause },
    ),

  /** `sentinels` that ioredis would not understand: an empty list, texts, an entry without its host, no `name`. */
  sentinel: (option: string) =>
    new LockConfigurationError(
      `${option}: sentinels need at least one { host, port }, each with its host, and name: the name of the master that they watch.`,
    ),

  /** The option `replicas`: fewer replicas have a copy of the lock than it requires. The lock was released again. */
  tooFewReplicas: (
    key: string,
    address: string,
    confirmed: number,
    count: number,
    timeout: number,
    uncertain: boolean,
  ) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: Redis at ${address} granted it, but ${confirmed} of ${count} replicas confirmed that within ${timeout} ms (option replicas), so it was released. Check the replicas and their lag (INFO replication), or require fewer.`,
      { key, uncertain },
    ),

  /** `replicas.count` is not a count. */
  replicaCount: (given: unknown) =>
    new LockConfigurationError(`replicas.count: ${describe(given)} given, a whole number of at least 1 expected.`),

  /** Renewals and releases wait behind the `WAIT`: several of them must fit into one `commandTimeout`. */
  replicaTimeout: (timeout: number, commandTimeout: number) =>
    new LockConfigurationError(
      `replicas.timeout: ${timeout} ms given, at most a third of commandTimeout (${commandTimeout} ms) expected. Shorten it, or lengthen commandTimeout.`,
    ),

  /** A Cluster client where one server is needed: a node of a quorum. */
  cluster: (option: string) =>
    new LockConfigurationError(`${option}: a Cluster client was given; one Redis server (or Sentinel) is needed here.`),

  /** ioredis would accept it, and connect to this machine. A string is not shown: it may contain a password. */
  noRedis: (option: string, given: string) =>
    new LockConfigurationError(
      `${option}: ${given} given; a URL such as 'redis://127.0.0.1:6379', the path of a socket, ioredis options or an ioredis client expected.`,
    ),

  /** A client of another library, or something around one. Its options say nothing to ioredis, which would connect to this machine. */
  stranger: (option: string, what: string) =>
    new LockConfigurationError(
      `${option}: ${what} was given; the locks need ioredis. Write the URL: ${option === 'redis' ? "redis: 'redis://…'" : "'redis://…'"}, ioredis' options, or a client of ioredis.`,
    ),

  /** ioredis would ignore it, and connect to this machine. `advice`: the nearest option that it has. */
  foreignOption: (option: string, name: string, advice: string) =>
    new LockConfigurationError(
      `${option}: ioredis has no option ${nameOf(name)}. ${advice}Write ${option === 'redis' ? 'redis: url' : 'the URL itself'}, or ioredis' own options: { host, port, username, password, db, tls }. For a Redis Cluster write cluster: { nodes }.`,
    ),

  /** A getter of a class: ioredis copies an object's own properties, and would connect to this machine. */
  inheritedOption: (option: string, name: string) =>
    new LockConfigurationError(
      `${option}: ${name} is not the object's own property (a getter of a class, most likely), and ioredis would not see it. Write a plain object: { ${name}: config.${name} }.`,
    ),

  /** An option of a connection beside `redisOptions`, or none of ioredis at all. */
  foreignClusterOption: (option: string, name: string, isOfNode: boolean) =>
    new LockConfigurationError(
      `${option}: ioredis' Cluster has no option ${nameOf(name)}. ${isOfNode ? `Write it in redisOptions: { ${name} }.` : 'Remove it.'}`,
    ),

  /** `db: NaN`, a text where a number belongs. A text is not shown. */
  wrongValue: (option: string, given: string, expected: string) =>
    new LockConfigurationError(`${option}: ${given} given, ${expected} expected.`),

  /** A variable that is not set, in a URL or in one of several servers. */
  noHost: (option: string) =>
    new LockConfigurationError(
      `${option}: there is no host in it. A variable that it is made of is not set, most likely; name the host.`,
    ),

  /** A URL with a character that is not percent-encoded, or a database that is no number. It is not shown: it may contain a password. */
  url: (option: string) =>
    new LockConfigurationError(
      `${option}: this URL cannot be read. Write redis://user:password@host:port/0, and percent-encode user and password (encodeURIComponent).`,
    ),

  /** `cluster.nodes` names no node. A string is not shown: it may contain a password. */
  clusterNodes: (given: unknown) =>
    new LockConfigurationError(
      `cluster.nodes: ${kindOf(given)} given; a list of some of the cluster's nodes expected, such as [{ host: '10.0.0.1', port: 6379 }].`,
    ),

  /** One of `cluster.nodes`. */
  clusterNode: (given: unknown) =>
    new LockConfigurationError(
      `cluster.nodes: ${describe(given)} given; { host, port }, a URL or a port expected for each node.`,
    ),

  /** `cluster.options`, or `redisOptions` in it, is not an object. */
  clusterOptions: (option: string, given: unknown) =>
    new LockConfigurationError(`${option}: ${kindOf(given)} given; options of ioredis expected.`),

  /** A cluster has the database 0 and no other. */
  clusterDatabase: (option: string) =>
    new LockConfigurationError(
      `${option}: a cluster has one database. Remove db, and set keyPrefix to keep locks apart.`,
    ),

  /** `cluster.options.useSRVRecords` is not supported. */
  clusterRecords: () =>
    new LockConfigurationError(
      'cluster.options.useSRVRecords: is not supported; name some of the nodes by host and port.',
    ),

  /**
   * `keyPrefix` (with the one of the client or its options) is empty, or has a '{' after its first character. A name under it could be the
   * key of another prefix.
   */
  prefix: (prefix: string) =>
    new LockConfigurationError(
      `keyPrefix: ${describe(prefix)} given; at least one character expected, and a '{' only as the first, as in '{shop}:'. Two prefixes could share locks otherwise.`,
    ),

  /** `keyPrefix` in a cluster: a brace without a hash tag. */
  clusterPrefix: (prefix: string) =>
    new LockConfigurationError(
      `keyPrefix: ${describe(prefix)} has a '{' that does not begin a hash tag, so the keys of a lock would be on different nodes of the cluster. Remove the brace.`,
    ),

  /** `cluster` leads to a server that is not part of a cluster. */
  noCluster: (address: string) =>
    new LockConfigurationError(
      `cluster: Redis at ${address} does not run as a cluster (cluster-enabled no); give it as redis.`,
    ),
} as const;

/** Why Redis did not answer. The text in the brackets above. */
export const redisReasons = {
  /** As the application starts: an address that drops packets, or a TLS connection to a server without TLS. */
  noConnection: (ms: number, tls = false) =>
    new Error(`no connection within ${ms} ms${tls ? '; a server without TLS wants redis:// and no option tls' : ''}`),

  /** The server ended it, or a proxy. */
  closed: () => new Error('the connection was closed'),

  /** A half-open connection, or a server that hangs: the connection is replaced. */
  noAnswer: (ms: number) => new Error(`no answer within ${ms} ms (option commandTimeout)`),

  /** A node that is not (yet) part of the cluster. */
  noSlots: () => new Error('it knows of no slots'),

  /** More than `commandTimeout` passed before Redis ran the command, which then changed nothing: a slow link or a stalled server. */
  late: () => new Error('the command reached it too late'),
} as const;

/**
 * Findings of the doctor about a Redis server as the application starts. They are warnings. With `strict` the application does not start. A
 * remark is neither. [Settings for the
 * server](https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/production.md#settings-for-the-server).
 */
export const redisFindings = {
  /** `maxmemory` is set, and the policy deletes keys to stay below it: two processes would hold one lock. */
  eviction: (address: string, policy: string): LockFinding => ({
    code: 'LOCK_DOCTOR_EVICTION',
    message: `Redis at ${address}: maxmemory-policy ${policy} may evict locks when memory is short. Set noeviction, or use a server of its own for locks.`,
  }),

  /** No append-only file, the default of Redis: after a restart of Redis all locks are free. A remark, not a reason not to start. */
  persistence: (address: string): LockFinding => ({
    code: 'LOCK_DOCTOR_PERSISTENCE',
    message: `Redis at ${address}: a restart of Redis deletes all locks (appendonly no). Set appendonly yes in production.`,
    remark: true,
  }),

  /** The user may not subscribe: waiters poll about once a second. */
  noMessages: (address: string, answer: string): LockFinding => ({
    code: 'LOCK_DOCTOR_PERMISSION',
    message: `Redis at ${address}: waiters cannot be notified and poll about once a second: ${answer}. Grant +subscribe and the channels: https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/production.md#the-smallest-acl`,
  }),

  /** Scripts need `SET … GET` and `PXAT`. */
  oldVersion: (address: string, version: string, least: string): LockFinding => ({
    code: 'LOCK_DOCTOR_VERSION',
    message: `Redis at ${address} has version ${version}; locks need ${least}. Update it.`,
  }),

  /** A node of a quorum does not send its identity (`INFO server`, `run_id`). Two names of one server would be two votes. */
  unknownServer: (address: string): LockFinding => ({
    code: 'LOCK_DOCTOR_UNEXAMINED',
    message: `Redis at ${address} does not send its identity, so it cannot be compared with the other nodes of the quorum. Grant +info, or make sure that no two nodes are one server.`,
    remark: true,
  }),

  /** `INFO` is refused. Never a reason not to start. */
  infoRefused: (address: string, answer: string): LockFinding => ({
    code: 'LOCK_DOCTOR_UNEXAMINED',
    message: `Redis at ${address}: eviction and persistence cannot be read: ${answer}. Grant +info, or check them yourself.`,
    remark: true,
  }),
} as const;

/** Log lines about the connection to Redis. */
export const redisLines = {
  /** Warning, once for an outage. */
  away: (address: string, why: string) =>
    `Redis at ${address} is not reachable${why}; locks reject with LOCK_UNAVAILABLE until it is back. The library keeps trying.`,

  /** Warning at the start: no option names the server. The address says why. */
  byDefault: (address: string) =>
    `The locks live in Redis at ${address}. Processes on other machines do not share it. Name the server: redis: 'redis://…'.`,

  /** Its end. */
  back: (address: string) => `Redis at ${address} answers again; locks are available.`,

  /** A node of a cluster that was unavailable is not expected back any more. */
  replaced: (address: string) => `Redis at ${address} serves no slots any more; other nodes of the cluster do.`,

  /** Warning at the start: the option `replicas` requires more than there are. */
  fewReplicas: (address: string, confirmed: number, count: number) =>
    `${confirmed} replicas of Redis at ${address} answer, and ${count} are required (option replicas): until there are enough, locks reject with LOCK_UNAVAILABLE.`,

  /** Warning, once for an outage of a node of a quorum. */
  nodeAway: (address: string, why: string) =>
    `Redis at ${address}, a node of the quorum, is not reachable${why}; locks work while a majority is. The library keeps trying.`,

  /** Its end. */
  nodeBack: (address: string) => `Redis at ${address}, a node of the quorum, answers again.`,

  /** Warning, once for an outage of a node of a cluster. */
  shardAway: (address: string, why: string) =>
    `Redis at ${address}, a node of the cluster, is not reachable${why}; locks in its slots reject with LOCK_UNAVAILABLE until it is back, or replaced. The library keeps trying.`,

  /** Its end. */
  shardBack: (address: string) => `Redis at ${address}, a node of the cluster, answers again.`,
} as const;
