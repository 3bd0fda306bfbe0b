import type { Cluster } from 'ioredis';
import { assertQuorumSize } from '../backends/quorum/quorum-rules.js';
import {
  assertConnection,
  assertNode,
  isCluster,
  parseReplicas,
  type DefaultServer,
  readCluster,
  unsetHost,
  type RedisClusterOptions,
  type RedisConnection,
  type ReplicaTerms,
} from '../backends/redis/index.js';
import { defaults as library, least } from '../core/defaults.js';
import { parseDuration } from '../core/duration.js';
import type { LockBackend } from '../core/lock-backend.js';
import { hasUnset } from '../core/lock-key.js';
import { defaultNames, type LockDefaults, type ResolvedLockOptions, resolveDefaults } from '../core/options.js';
import { oneOf, readOptions, wholeNumber } from '../errors/read-options.js';
import { optionRefusals as refusals } from './connection.messages.js';
import { defaultConnection } from './connection.options.js';

/** The servers of a quorum, and times in milliseconds. */
interface ResolvedQuorumOptions {
  readonly nodes: readonly RedisConnection[];
  readonly nodeTimeout: number;
  readonly restartGuard: number;
}

/** Redisson's format of locks. */
interface ResolvedRedissonOptions {
  readonly tokens: 'own' | 'fenced';
}

/** The selected backend: at most one of the first four. None of them: a Redis on this machine. */
export interface ResolvedBackendOptions {
  readonly backend: LockBackend | undefined;
  readonly redis: RedisConnection | undefined;
  readonly cluster: Cluster | RedisClusterOptions | undefined;
  readonly quorum: ResolvedQuorumOptions | undefined;
  readonly keyPrefix: string;
  readonly commandTimeout: number;
  readonly replicas: ReplicaTerms | undefined;
  readonly redisson: ResolvedRedissonOptions | undefined;
  /** Set when no option names the server. */
  readonly byDefault?: DefaultServer | undefined;
}

/** A connection's options, checked and with their defaults; times in milliseconds. May contain passwords. */
export interface ResolvedConnectionOptions extends ResolvedBackendOptions {
  readonly defaults: ResolvedLockOptions;
  readonly maxWaiters: number;
  readonly shutdownTimeout: number;
  readonly activity: boolean;
  readonly stallLimit: number;
}

const redisNames = ['redis', 'cluster', 'quorum', 'keyPrefix', 'commandTimeout', 'replicas', 'redisson'] as const;

/** The names of these options. */
export const connectionOptionNames = [
  ...redisNames,
  'backend',
  'maxWaiters',
  'shutdownTimeout',
  'activity',
  'stallLimit',
  ...defaultNames,
  'name',
] as const;

type Given = { [K in (typeof connectionOptionNames)[number]]?: unknown };

/**
 * @param given as from `readOptions`
 * @throws LockConfigurationError naming the wrong option
 */
export function resolveConnection(given: Given): ResolvedConnectionOptions {
  assertOnePlace(given);
  const defaults = resolveDefaults(given as LockDefaults);
  const {
    maxWaiters = library.maxWaiters,
    shutdownTimeout = library.shutdownTimeout,
    activity = library.activity,
    stallLimit = library.stallLimit,
  } = given;
  return {
    ...resolveBackend(given, defaults.lease),
    defaults,
    maxWaiters: wholeNumber('maxWaiters', maxWaiters, least.maxWaiters),
    shutdownTimeout: parseDuration('shutdownTimeout', shutdownTimeout, { min: least.shutdownTimeout }),
    activity: oneOf('activity', activity, [true, false]),
    stallLimit: parseDuration('stallLimit', stallLimit, { min: least.stallLimit }),
  };
}

/** @throws LockConfigurationError unless a connection can have this name */
export function assertConnectionName(name: unknown): void {
  if (name !== undefined && (typeof name !== 'string' || name === '' || name === defaultConnection))
    throw refusals.noName(name, defaultConnection);
}

/** @param lease the default, in ms */
function resolveBackend(given: Given, lease: number): ResolvedBackendOptions {
  const { backend, redis, quorum, replicas } = given;
  const redisson = resolveRedisson(given);
  const { keyPrefix = redisson ? '' : library.keyPrefix } = given;
  const { commandTimeout = library.commandTimeout } = given;
  const cluster = clusterIn(given);
  if (!cluster && redis !== undefined) assertConnection('redis', redis);
  if (typeof keyPrefix !== 'string') throw refusals.noPrefix(keyPrefix);
  if (hasUnset(keyPrefix)) throw refusals.unsetPrefix(keyPrefix);
  const answerTime = parseDuration('commandTimeout', commandTimeout, { min: least.commandTimeout });
  return {
    backend: backend as LockBackend | undefined,
    redis: cluster ? undefined : (redis as RedisConnection | undefined),
    cluster,
    quorum: quorum === undefined ? undefined : resolveQuorum(quorum, lease),
    keyPrefix,
    commandTimeout: answerTime,
    replicas: parseReplicas(replicas, answerTime),
    redisson,
    byDefault: defaultIn(given),
  };
}

/** Why the server is the one on this machine. Undefined when an option names it. */
function defaultIn(given: Given): DefaultServer | undefined {
  const isProduction = process.env['NODE_ENV'] === 'production';
  const places = ['redis', 'cluster', 'quorum', 'backend'] as const;
  if (places.every((place) => given[place] === undefined)) {
    const unset = places.find((place) => place in given);
    const reason = unset === undefined ? 'no redis is given' : `${unset} is undefined`;
    return { why: `the default, as ${reason}`, isSlip: unset !== undefined || isProduction };
  }
  const { redis } = given;
  const host = typeof redis === 'object' ? unsetHost(redis) : undefined;
  if (host !== undefined) return { why: `the default host, as redis.host is ${host}`, isSlip: true };
  const isEmpty = typeof redis === 'object' && Object.keys(redis!).length === 0;
  return isEmpty ? { why: 'the default, as redis is empty', isSlip: isProduction } : undefined;
}

/** The cluster in `cluster` or `redis`, if there is one. */
function clusterIn({ redis, cluster, quorum, replicas }: Given): Cluster | RedisClusterOptions | undefined {
  if (cluster === undefined && !isCluster(redis)) return undefined;
  if (cluster !== undefined && redis !== undefined) throw refusals.twoBackends('cluster', 'redis');
  if (quorum !== undefined) throw refusals.twoBackends('cluster', 'quorum');
  if (replicas !== undefined) throw refusals.replicasOfCluster();
  if (isCluster(cluster)) throw refusals.clusterClient();
  const found = (cluster ?? redis) as Cluster | RedisClusterOptions;
  // Only for its errors: the backend reads it again.
  readCluster(found);
  return found;
}

function resolveRedisson(given: Given): ResolvedRedissonOptions | undefined {
  if (given.redisson === undefined || given.redisson === false) return undefined;
  if (given.quorum !== undefined) throw refusals.redissonAndQuorum();
  if (given.redisson === true) return { tokens: 'own' };
  const { tokens = 'own' } = readOptions('redisson', given.redisson, ['tokens']);
  return { tokens: oneOf('redisson.tokens', tokens, ['own', 'fenced']) };
}

function resolveQuorum(options: unknown, lease: number): ResolvedQuorumOptions {
  const {
    nodes,
    nodeTimeout = library.nodeTimeout,
    restartGuard = library.restartGuard,
  } = readOptions('quorum', options, ['nodes', 'nodeTimeout', 'restartGuard']);
  if (!Array.isArray(nodes)) throw refusals.noNodes(nodes);
  assertQuorumSize(nodes.length);
  for (const node of nodes) assertNode('quorum.nodes', node);
  const guard = parseDuration('quorum.restartGuard', restartGuard, { min: least.restartGuard });
  if (guard > 0 && guard < lease) throw refusals.shortGuard(guard, lease);
  return {
    nodes: nodes as RedisConnection[],
    nodeTimeout: parseDuration('quorum.nodeTimeout', nodeTimeout, { min: least.nodeTimeout }),
    restartGuard: guard,
  };
}

function assertOnePlace(given: Given): void {
  if (given.quorum !== undefined && given.redis !== undefined) throw refusals.twoBackends('redis', 'quorum');
  if (given.quorum !== undefined && given.commandTimeout !== undefined) throw refusals.timeoutOfNodes();
  if (given.quorum !== undefined && given.replicas !== undefined) throw refusals.replicasOfNodes();
  if (given.backend === undefined) return;
  const extra = redisNames.find((name) => given[name] !== undefined);
  if (extra) throw refusals.twoBackends(extra, 'backend');
  if (typeof Reflect.get(Object(given.backend) as object, 'acquire') !== 'function')
    throw refusals.noBackend(given.backend);
}
