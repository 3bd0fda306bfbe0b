import type { Cluster } from 'ioredis';
import type { RedisClusterOptions, RedisConnection, ReplicasOptions } from '../backends/redis/index.js';
import type { Duration } from '../core/duration.js';
import type { LockBackend } from '../core/lock-backend.js';
import type { LockDefaults } from '../core/options.js';

/** The name of the connection without a name. */
export const defaultConnection = 'default';

/**
 * Where the locks live, and how to talk to it. `lease`, `wait`, `maxHold`, `fairness`, `onLost`,
 * `release` and `renewFrom` are the defaults of all acquisitions.
 */
export interface LockConnectionOptions extends LockDefaults {
  /**
   * The Redis that keeps the locks: a URL, ioredis' options, or a client (Redis or Cluster), whose options are copied; the client itself is
   * not used.
   * @default 'redis://127.0.0.1:6379'
   */
  redis?: RedisConnection | Cluster | undefined;
  /** A Redis Cluster, by some of its nodes. Not together with `redis`, `quorum` or `replicas`. */
  cluster?: RedisClusterOptions | undefined;
  /** Several independent Redis servers instead of one: locks work while a majority of them can be reached. */
  quorum?: RedisLockQuorumOptions | undefined;
  /**
   * Locks in the format of Redisson's RLock: with `redis` or `cluster`, services in Java (`redisson.getLock(name)`) and this application
   * exclude and wake each other. `keyPrefix` is empty then, unless it is set. Exclusive locks only; not together with `quorum`.
   * @default the library's own format, which has more
   */
  redisson?: boolean | RedissonOptions | undefined;
  /**
   * Another backend instead of Redis. Not together with `redis`, `cluster`, `quorum`, `redisson`, `keyPrefix`, `commandTimeout` or
   * `replicas`, which are options of Redis.
   */
  backend?: LockBackend | undefined;
  /**
   * The beginning of all keys in Redis. Applications with the same prefix share their locks. Not empty, and with a `{` only as its first
   * character, as in
   * `{shop}:`.
   * @default 'lock:'
   */
  keyPrefix?: string | undefined;
  /**
   * Callers of this process that may wait for locks at once, over all keys; further ones are refused with LOCK_QUEUE_FULL. At least 1.
   * @default 10000
   */
  maxWaiters?: number | undefined;
  /**
   * The longest time to wait for the reply to one command. At least 10 ms. A shorter time detects an outage sooner, a longer one tolerates
   * slow links.
   * @default '1s'
   */
  commandTimeout?: Duration | (string & {}) | undefined;
  /**
   * How many replicas must confirm a lock, and each extension of it, before it counts (WAIT), and how long they may take:
   * `{ count: 1, timeout: '200ms' }`. A lock that too few confirm is released, and the call rejects with LOCK_UNAVAILABLE. For one server
   * with replicas, or Sentinel; each lock and renewal waits for the replicas.
   * @default none: the master alone decides
   */
  replicas?: ReplicasOptions | undefined;
  /**
   * How long running work may continue when the application closes, before its locks are released. 0 = not at all.
   * @default '10s'
   */
  shutdownTimeout?: Duration | (string & {}) | undefined;
  /**
   * True: while callers wait, a lock is held for long, or one was lost, this process tells the others so, by one small command each five
   * seconds at most. `nestjs-redis-lock/console` shows it.
   * @default true
   */
  activity?: boolean | undefined;
  /**
   * With `renewFrom: 'worker'`: how long the worker renews the locks of this process while its event loop is blocked. At least '1s'. After it
   * the leases run out, so that a process that hangs does not keep its locks forever.
   * @default '2m'
   */
  stallLimit?: Duration | (string & {}) | undefined;
}

/** How locks are shared with Redisson. */
export interface RedissonOptions {
  /**
   * `own`: fencing tokens of this library, also after a loss of data. `fenced`: the counter of Redisson's RFencedLock, so that tokens of
   * both rise together; it begins again at 1 after a loss of data, and leaves one key for each name forever.
   * @default 'own'
   */
  tokens?: 'own' | 'fenced' | undefined;
}

/** Locks over several independent Redis servers: a claim that gets the votes of a majority holds the lock. */
export interface RedisLockQuorumOptions {
  /** The servers, as for `redis`: 3, 5 or 7 that share nothing and are no replicas of each other. All processes name the same ones. */
  nodes: readonly RedisConnection[];
  /**
   * The longest time to wait for the reply of one server to one command; then it counts as unreachable, and the others decide. At least 10
   * ms, and far below the lease: the time until a majority has replied is taken off the lease.
   * @default '500ms'
   */
  nodeTimeout?: Duration | (string & {}) | undefined;
  /**
   * How long a server gives no new vote after its start, because it may have forgotten what it granted. No lease may be longer. 0 = it
   * votes at once, which is right when the servers keep their data over a restart (`appendfsync always`).
   * @default 0
   */
  restartGuard?: Duration | (string & {}) | undefined;
}
