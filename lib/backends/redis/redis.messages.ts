import { describe, printable } from '../../core/describe.js';
import type { LockFinding } from '../../core/lock-finding.js';
import { LockConfigurationError, LockUnavailableError } from '../../errors/lock-errors.js';

const subject = (key: string | undefined): string => (key === undefined ? 'Locks' : `Lock ${printable(key)}`);

/** Redis, as it is asked. `address` is host and port, never user or password. */
export const redisRefusals = {
  /** The connection has been down for longer than `commandTimeout` (or than `wait`), or never came up. `why` is the last reason: refused, timed out, a permission. */
  notConnected: (address: string, why: string) =>
    new LockUnavailableError(
      `Redis at ${address} is not connected${why}. Look whether it runs and can be reached; it is tried again by itself.`,
    ),

  /** The command was under way when the connection broke or timed out. Redis being well, it is a blocked event loop, or a long command in Redis. */
  noAnswer: (key: string | undefined, address: string, why: string, cause: Error) =>
    new LockUnavailableError(
      `${subject(key)}: Redis at ${address} did not answer (${why}). Look at Redis, at what blocks this event loop, and at commandTimeout.`,
      { key, cause, uncertain: true },
    ),

  /** Redis refused the command: out of memory, not enough replicas, still loading after `wait`. */
  answered: (key: string | undefined, address: string, answer: string, cause: Error) =>
    new LockUnavailableError(
      `${subject(key)}: Redis at ${address} answered ${printable(answer)}. Do what the answer asks for.`,
      { key, cause, uncertain: false },
    ),

  /** `NOPERM`, `WRONGPASS`, `NOAUTH`: [the smallest ACL](guarantees.md#the-smallest-acl). Once it was granted, the server is asked again within 5 s. */
  refused: (key: string | undefined, address: string, answer: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}: Redis at ${address} refuses what the lock needs: ${answer} (docs/guarantees.md lists the smallest ACL).`,
      { key, cause },
    ),

  /** A foreign value on the lock's key. */
  foreign: (key: string | undefined, address: string, cause: Error) =>
    new LockConfigurationError(
      `${subject(key)}: its key in Redis at ${address} holds something that is no lock. Delete that key, or choose another keyPrefix for locks.`,
      { key, cause },
    ),

  /** The caller had gone before an answer could come: its `signal`, its `wait`. Nobody sees this. */
  givenUp: (key: string) => new LockUnavailableError(`Lock ${printable(key)}: given up meanwhile.`, { key }),

  /** `redis` has `sentinels` that say too little: ioredis would throw at the first connection. */
  sentinel: () =>
    new LockConfigurationError(
      'redis: sentinels need at least one { host, port }, and name: the name of the master that they watch.',
    ),

  /** The option `replicas`: fewer replicas hold a copy of the lock than it asks for. The grant was taken back. */
  tooFewReplicas: (
    key: string,
    address: string,
    confirmed: number,
    count: number,
    timeout: number,
    uncertain: boolean,
  ) =>
    new LockUnavailableError(
      `Lock ${printable(key)}: Redis at ${address} granted it, but ${confirmed} of ${count} replicas confirmed that within ${timeout} ms (option replicas), so it was given back. Look at the replicas and their lag (INFO replication), or ask for fewer.`,
      { key, uncertain },
    ),

  /** `replicas.count` is no count. */
  replicaCount: (given: unknown) =>
    new LockConfigurationError(`replicas.count: ${describe(given)} given, a whole number of at least 1 expected.`),

  /** Renewals and releases stand behind the question: several of them must fit into the time for one answer. */
  replicaTimeout: (timeout: number, commandTimeout: number) =>
    new LockConfigurationError(
      `replicas.timeout: ${timeout} ms given, at most a third of commandTimeout (${commandTimeout} ms) expected. Give the replicas less time, or commands more.`,
    ),

  /** `redis` is a Cluster client where one server is needed: a node of a quorum. */
  cluster: () =>
    new LockConfigurationError('redis: a Cluster client was given; a lock needs one Redis server (or Sentinel) here.'),

  /** `cluster.nodes` names no node. A string is not shown: it may hold a password. */
  clusterNodes: (given: unknown) =>
    new LockConfigurationError(
      `cluster.nodes: ${typeof given === 'string' ? 'a string' : describe(given)} given; a list of some of the cluster's nodes expected, such as [{ host: '10.0.0.1', port: 6379 }].`,
    ),

  /** One of `cluster.nodes`. */
  clusterNode: (given: unknown) =>
    new LockConfigurationError(
      `cluster.nodes: ${describe(given)} given; { host, port }, a URL or a port expected for each node.`,
    ),

  /** `cluster.options` is no object. */
  clusterOptions: (given: unknown) =>
    new LockConfigurationError(`cluster.options: ${describe(given)} given; options of ioredis' Cluster expected.`),

  /** `cluster.options.useSRVRecords` is not followed. */
  clusterRecords: () =>
    new LockConfigurationError(
      'cluster.options.useSRVRecords: is not followed here; name some of the nodes by host and port.',
    ),

  /** `keyPrefix` in a cluster: a brace that is no hash tag. */
  clusterPrefix: (prefix: string) =>
    new LockConfigurationError(
      `keyPrefix: ${printable(prefix)} has a '{' that begins no hash tag, so the keys of a lock would be on different nodes of the cluster. Leave the brace out.`,
    ),

  /** `cluster` leads to a server that is none of a cluster. */
  noCluster: (address: string) =>
    new LockConfigurationError(
      `cluster: Redis at ${address} does not run as a cluster (cluster-enabled no); give it as redis.`,
    ),
} as const;

/** Why Redis did not answer: what stands in the brackets above. */
export const redisReasons = {
  /** An address that swallows packets, as the application starts. */
  noConnection: (ms: number) => new Error(`no connection within ${ms} ms`),

  /** A half-open connection, or a server that hangs: the connection is made anew. */
  noAnswer: (ms: number) => new Error(`no answer within ${ms} ms (option commandTimeout)`),

  /** A node that is not (yet) part of the cluster. */
  noSlots: () => new Error('it knows of no slots'),

  /** The command lay for longer than `commandTimeout` before Redis ran it, which then changed nothing: a slow link or a stalled server. */
  late: () => new Error('the question reached it too late'),
} as const;

/** What the doctor finds in a Redis server as the application starts: warnings, with `strict` reasons not to start. [Settings for the server](guarantees.md#settings-for-the-server). */
export const redisFindings = {
  /** `maxmemory` is set, and the policy throws keys away to stay below it: two would hold one lock. */
  eviction: (address: string, policy: string): LockFinding => ({
    code: 'LOCK_DOCTOR_EVICTION',
    message: `Redis at ${address}: maxmemory-policy ${policy} may throw locks away when memory is short. Set noeviction, or use a server of its own for locks.`,
  }),

  /** No append-only file: after a restart of Redis every lock is free, whoever holds it. */
  persistence: (address: string): LockFinding => ({
    code: 'LOCK_DOCTOR_PERSISTENCE',
    message: `Redis at ${address}: a restart forgets every lock (appendonly no), and a second holder may start while the first one works. Set appendonly yes.`,
  }),

  /** The user may not subscribe: hand-offs between processes are found by asking, about once a second. */
  noMessages: (address: string, answer: string): LockFinding => ({
    code: 'LOCK_DOCTOR_PERMISSION',
    message: `Redis at ${address}: waiters cannot be called, only ask about once a second: ${answer}. Grant +subscribe and the channels (docs/guarantees.md lists the smallest ACL).`,
  }),

  /** Scripts need `SET … GET` and `PXAT`. */
  oldVersion: (address: string, version: string, least: string): LockFinding => ({
    code: 'LOCK_DOCTOR_VERSION',
    message: `Redis at ${address} has version ${version}; locks need ${least}. Update it.`,
  }),

  /** `INFO` is refused. Never a reason not to start. */
  infoRefused: (address: string, answer: string): LockFinding => ({
    code: 'LOCK_DOCTOR_UNEXAMINED',
    message: `Redis at ${address}: eviction and persistence cannot be looked at: ${answer}. Grant +info, or look yourself.`,
    remark: true,
  }),
} as const;

/** Lines in the log about the connection to Redis. */
export const redisLines = {
  /** Warning, once for an outage. */
  away: (address: string, why: string) =>
    `Redis at ${address} is not reachable${why}; locks answer LOCK_UNAVAILABLE until it is back. It is tried again by itself.`,

  /** Its end. */
  back: (address: string) => `Redis at ${address} answers again; locks are available.`,

  /** A node of a cluster that was away is not waited for any more. */
  replaced: (address: string) => `Redis at ${address} serves no slots any more; other nodes of the cluster do.`,

  /** Warning at the start: the option `replicas` asks for more than there are. */
  fewReplicas: (address: string, confirmed: number, count: number) =>
    `${confirmed} replicas of Redis at ${address} answer, and ${count} are asked for (option replicas): until there are enough, locks answer LOCK_UNAVAILABLE.`,

  /** Warning, once for an outage of a node of a quorum. */
  nodeAway: (address: string, why: string) =>
    `Redis at ${address}, a node of the quorum, is not reachable${why}; locks go on while a majority is. It is tried again by itself.`,

  /** Its end. */
  nodeBack: (address: string) => `Redis at ${address}, a node of the quorum, answers again.`,

  /** Warning, once for an outage of a node of a cluster. */
  shardAway: (address: string, why: string) =>
    `Redis at ${address}, a node of the cluster, is not reachable${why}; locks in its slots answer LOCK_UNAVAILABLE until it is back, or replaced. It is tried again by itself.`,

  /** Its end. */
  shardBack: (address: string) => `Redis at ${address}, a node of the cluster, answers again.`,
} as const;
