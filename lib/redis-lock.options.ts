import type { Cluster } from 'ioredis';
import type { LockBackend } from './core/lock-backend.js';
import { type Duration, parseDuration } from './core/duration.js';
import {
  type LockDefaults,
  type ResolvedLockOptions,
  oneOf,
  readOptions,
  resolveDefaults,
  wholeNumber,
} from './core/options.js';
import {
  parseReplicas,
  type RedisClusterOptions,
  type RedisConnection,
  type ReplicasOptions,
} from './backends/redis/index.js';
import { type LockFindingCode, findingCodes } from './core/lock-finding.js';
import type { IgnoredFindings } from './doctor/finding-log.js';
import { assertQuorum, assertRedisConnection, type RedisLockQuorumOptions } from './redis-lock-quorum.options.js';
import { assertCluster } from './redis-lock-cluster.options.js';
import { moduleRefusals as refusals } from './redis-lock.messages.js';
import { defaultConnection } from './redis-lock.tokens.js';

/** What `RedisLockModule.forRoot` takes. `lease`, `wait`, `maxHold`, `fairness` and `onLost` are the defaults of every acquisition. */
export interface RedisLockModuleOptions extends LockDefaults {
  /**
   * The Redis that keeps the locks: a URL, ioredis' options, or a client (Redis or Cluster), whose options are copied; it is never used itself.
   * @default 'redis://127.0.0.1:6379'
   */
  redis?: RedisConnection | Cluster;
  /** A Redis Cluster, by some of its nodes. Not together with `redis`, `quorum` or `replicas`. */
  cluster?: RedisClusterOptions;
  /** Several independent Redis servers instead of one: locks go on while a majority of them can be reached. */
  quorum?: RedisLockQuorumOptions;
  /**
   * Another place for the locks instead of Redis. Not together with `redis`, `cluster`, `quorum`, `keyPrefix`, `commandTimeout`, `poll` or
   * `replicas`, which are Redis'.
   */
  backend?: LockBackend;
  /**
   * Name of the connection, where an application has several: `@InjectRedisLock('billing')`, `connection: 'billing'`.
   * @default none: the default connection
   */
  name?: string;
  /**
   * Whether every module can use the locks without importing this one.
   * @default true
   */
  isGlobal?: boolean;
  /**
   * What every key in Redis begins with. Applications that share a prefix share their locks.
   * @default 'lock:'
   */
  keyPrefix?: string;
  /**
   * Callers of this process that may wait for locks at once, over all keys; further ones are refused with LOCK_QUEUE_FULL. At least 1.
   * @default 10000
   */
  maxWaiters?: number;
  /**
   * How often in a row this process may pass a lock on inside, without a word to Redis, while other processes wait for it (and for
   * 50 ms at most). More is faster, less is fairer between processes. 0 = never, as with `fairness: 'strict'`.
   * @default 16
   */
  maxLocalHandoffs?: number;
  /**
   * How long Redis may take to answer one command. At least 10 ms. Shorter finds out sooner that Redis is gone, longer bears slow links.
   * @default '1s'
   */
  commandTimeout?: Duration;
  /**
   * How often a waiter asks by itself, in case a message was lost. At least 100 ms. Shorter finds a free lock sooner after a
   * fault, and costs commands all the time.
   * @default '5s'
   */
  poll?: Duration;
  /**
   * How many replicas must have a lock, and every lengthening of it, before it counts (WAIT), and how long they may take:
   * `{ count: 1, timeout: '200ms' }`. A lock that too few confirm is given back, and the call answers LOCK_UNAVAILABLE. For one server
   * with replicas, or Sentinel; costs every lock and renewal the time until the replicas have answered.
   * @default none: the master's word is enough
   */
  replicas?: ReplicasOptions;
  /**
   * How long running work may go on when the application closes, before its locks are given back under it. 0 = not at all.
   * @default '10s'
   */
  shutdownTimeout?: Duration;
  /**
   * Whether the application refuses to start while Redis cannot be reached, and when the start-up doctor finds a mistake. Without, it
   * starts: its locks reject with LOCK_UNAVAILABLE until Redis is there, and findings are warnings in the log.
   * @default false
   */
  strict?: boolean;
  /**
   * Findings of the doctor that are of no interest here, by their codes, or 'all' of them.
   * @default [] none is ignored
   */
  ignoreFindings?: 'all' | readonly LockFindingCode[];
  /**
   * Whether locks that are taken inside each other are watched: orders that can deadlock, and fixed leases that end while their holder waits
   * for another lock, are told once each. Costs some microseconds a lock.
   * @default true, and false where NODE_ENV is 'production'
   */
  checkNesting?: boolean;
  /**
   * Whether lock errors are answered as HTTP 409 and 503 by LockErrorFilter, and in the forms of other transports, in the whole
   * application: with several connections, false at one of them turns it off.
   * @default true
   */
  httpErrors?: boolean;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface RedisLockOptionsFactory {
  /** `name` and `isGlobal` stand beside it, in `forRootAsync`: Nest needs them before it runs a factory. */
  createRedisLockOptions(): Promise<RedisLockAsyncOptions> | RedisLockAsyncOptions;
}
export type RedisLockAsyncOptions = Omit<RedisLockModuleOptions, 'name' | 'isGlobal'>;

/** The module's options with their defaults, in milliseconds. What is Redis' own is checked by its backend. */
export interface ResolvedModuleOptions {
  readonly defaults: ResolvedLockOptions;
  readonly maxWaiters: number;
  readonly maxLocalHandoffs: number;
  readonly shutdownTimeout: number;
  readonly strict: boolean;
  readonly ignoreFindings: IgnoredFindings;
  readonly checkNesting: boolean;
  readonly httpErrors: boolean;
}

export const moduleDefaults = {
  maxWaiters: 10_000,
  maxLocalHandoffs: 16,
  shutdownTimeout: 10_000,
  strict: false,
  ignoreFindings: [],
  httpErrors: true,
} as const;

const defaultNames = ['lease', 'wait', 'maxHold', 'fairness', 'onLost'] as const;
const redisNames = ['redis', 'cluster', 'quorum', 'keyPrefix', 'commandTimeout', 'poll', 'replicas'] as const;
const ownNames = [
  'backend',
  'maxWaiters',
  'maxLocalHandoffs',
  'shutdownTimeout',
  'strict',
  'ignoreFindings',
  'checkNesting',
  'httpErrors',
] as const;
const extraNames = ['name', 'isGlobal'] as const;
const names = [...redisNames, ...ownNames, ...defaultNames, ...extraNames] as const;

/** @throws LockConfigurationError naming the wrong option, and for an unknown one the nearest known. */
export function resolveModuleOptions(options: unknown): ResolvedModuleOptions {
  const given = readOptions('options', options, names);
  assertOnePlace(given);
  assertRedis(given);
  const defaults = resolveDefaults(given as LockDefaults);
  if (given.quorum !== undefined) assertQuorum(given.quorum, defaults.lease);
  const { maxWaiters, maxLocalHandoffs, shutdownTimeout, strict, ignoreFindings, checkNesting, httpErrors } = {
    ...moduleDefaults,
    checkNesting: process.env['NODE_ENV'] !== 'production',
    ...withoutUndefined(given),
  };
  return {
    defaults,
    maxWaiters: wholeNumber('maxWaiters', maxWaiters, 1),
    maxLocalHandoffs: wholeNumber('maxLocalHandoffs', maxLocalHandoffs, 0),
    shutdownTimeout: parseDuration('shutdownTimeout', shutdownTimeout, { min: 0 }),
    strict: oneOf('strict', strict, [true, false]),
    ignoreFindings: findingsToIgnore(ignoreFindings),
    checkNesting: oneOf('checkNesting', checkNesting, [true, false]),
    httpErrors: oneOf('httpErrors', httpErrors, [true, false]),
  };
}

function findingsToIgnore(given: unknown): IgnoredFindings {
  if (given === 'all') return given;
  if (!Array.isArray(given)) throw refusals.noFindings(given);
  return given.map((code) => oneOf('ignoreFindings', code, findingCodes));
}

/** `name` and `isGlobal`, which Nest needs before any factory runs. @throws LockConfigurationError */
export function assertExtras({ name, isGlobal }: { name?: unknown; isGlobal?: unknown }): void {
  if (name !== undefined && (typeof name !== 'string' || name === '' || name === defaultConnection))
    throw refusals.noName(name, defaultConnection);
  if (isGlobal !== undefined) oneOf('isGlobal', isGlobal, [true, false]);
}

/** Its backend checks the same, but only when the application starts. */
const leastOfRedis = { commandTimeout: 10, poll: 100 } as const;

function assertRedis(given: { [K in (typeof redisNames)[number]]?: unknown }): void {
  const { redis, keyPrefix } = given;
  assertCluster(given);
  if (redis !== undefined) assertRedisConnection('redis', redis);
  if (keyPrefix !== undefined && typeof keyPrefix !== 'string') throw refusals.noPrefix(keyPrefix);
  for (const option of ['commandTimeout', 'poll'] as const) {
    if (given[option] !== undefined) parseDuration(option, given[option], { min: leastOfRedis[option] });
  }
  parseReplicas(
    given.replicas,
    parseDuration('commandTimeout', given.commandTimeout ?? 1000, { min: leastOfRedis.commandTimeout }),
  );
}

/** @throws LockConfigurationError for what stands in a factory's answer, where it comes too late. */
export function refuseExtras(options: object): void {
  const extra = extraNames.find((name) => name in options);
  if (extra) throw refusals.besideFactory(extra);
}

function assertOnePlace(given: { [K in (typeof names)[number]]?: unknown }): void {
  if (given.quorum !== undefined && given.redis !== undefined) throw refusals.twoPlaces('redis', 'quorum');
  if (given.quorum !== undefined && given.commandTimeout !== undefined) throw refusals.timeoutOfNodes();
  if (given.quorum !== undefined && given.replicas !== undefined) throw refusals.replicasOfNodes();
  if (given.backend === undefined) return;
  const extra = redisNames.find((name) => given[name] !== undefined);
  if (extra) throw refusals.twoPlaces(extra, 'backend');
  if (typeof Reflect.get(Object(given.backend) as object, 'acquire') !== 'function')
    throw refusals.noBackend(given.backend);
}

const withoutUndefined = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
