import { Redis } from 'ioredis';
import type { RedisClusterOptions } from './cluster/cluster-options.js';
import { isClient, isCluster, type RedisConnection } from './given-connection.js';
import { isOverridden } from './redis-connection.js';
import { redisRefusals } from './redis.messages.js';
import type { Cluster, ClusterOptions } from 'ioredis';

/**
 * The connection as values that another thread can get: the options of a client, without those that the library replaces.
 * @param option the name of the module's option, for messages, which never contain a value
 * @throws LockConfigurationError naming what cannot be cloned
 */
export function cloneableConnection(option: string, connection: RedisConnection): RedisConnection {
  if (typeof connection === 'string') return connection;
  const ofClient = isClient(connection);
  const options = (ofClient ? connection.options : connection) as Record<string, unknown>;
  // A client's options include the functions that ioredis uses by default.
  const usual = ofClient ? (new Redis({ lazyConnect: true }).options as unknown as Record<string, unknown>) : {};
  const isUsual = (name: string): boolean =>
    typeof options[name] === 'function' && String(options[name]) === String(usual[name]);
  return cloneable(
    option,
    Object.fromEntries(Object.entries(options).filter(([name]) => !isOverridden(name) && !isUsual(name))),
  );
}

/** The same for a cluster. */
export function cloneableCluster(given: Cluster | RedisClusterOptions): RedisClusterOptions {
  const option = isCluster(given) ? 'redis' : 'cluster';
  const { options = {}, nodes } = isCluster(given)
    ? {
        options: given.options,
        nodes: (given as unknown as { startupNodes: RedisClusterOptions['nodes'] }).startupNodes,
      }
    : given;
  const { redisOptions = {}, natMap } = options;
  const { keyPrefix } = options as { keyPrefix?: string };
  const used: ClusterOptions = {
    redisOptions: cloneableConnection(`${option}.options.redisOptions`, redisOptions) as object,
    ...(natMap && { natMap: cloneable(`${option}.options.natMap`, natMap) }),
    ...(keyPrefix !== undefined && { keyPrefix }),
  };
  const seeds = nodes.map((node, index) =>
    typeof node === 'object' ? (cloneableConnection(`${option}.nodes.${index}`, node as object) as object) : node,
  );
  return { nodes: seeds, options: used };
}

/** A deep copy. */
function cloneable<T>(path: string, value: T): T {
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' || typeof value === 'symbol') throw redisRefusals.notCloneable(path);
    return value;
  }
  // Certificates.
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item, index) => cloneable(`${path}.${index}`, item as unknown)) as T;
  const prototype = Object.getPrototypeOf(value) as unknown;
  // Options from another realm, as in jest, have another Object.prototype.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain) throw redisRefusals.notCloneable(path);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, cloneable(`${path}.${name}`, item as unknown)]),
  ) as T;
}
