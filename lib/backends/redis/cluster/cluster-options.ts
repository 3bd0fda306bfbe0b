import { type Cluster, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import { readOptions } from '../../../errors/read-options.js';
import { assertClusterOptions, assertNode, isCluster, readUrl, refuseStranger } from '../given-connection.js';
import { redisRefusals } from '../redis.messages.js';

/** A Redis Cluster, by some of its nodes. */
export interface RedisClusterOptions {
  /** The nodes that are asked for all others: name several, in case one is unavailable. */
  nodes: ClusterNode[];
  /** Of ioredis' options `redisOptions`, `keyPrefix` and `natMap` are used. */
  options?: ClusterOptions;
}

/** How to reach the nodes of one cluster. A node is named by its address, `host:port`. */
export interface ClusterAccess {
  /** The nodes that the user has named. */
  readonly seeds: readonly string[];
  readonly keyPrefix: string;
  /** For a connection to one node. */
  optionsFor(address: string): RedisOptions;
  /** The address, as seen from here, for an address in a reply of a node. */
  reached(address: string): string;
}

/** @throws LockConfigurationError naming what is wrong. */
export function readCluster(given: Cluster | RedisClusterOptions): ClusterAccess {
  // The client's start nodes are private in ioredis' types.
  if (isCluster(given))
    return accessBy((given as unknown as { startupNodes: ClusterNode[] }).startupNodes, given.options);
  refuseStranger('cluster', given);
  const { nodes, options = {} } = readOptions('cluster', given, ['nodes', 'options']);
  if (!Array.isArray(nodes) || nodes.length === 0) throw redisRefusals.clusterNodes(nodes);
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw redisRefusals.clusterOptions('cluster.options', options);
  assertClusterOptions('cluster.options', options);
  return accessBy(nodes, options);
}

function accessBy(nodes: readonly ClusterNode[], options: ClusterOptions): ClusterAccess {
  const { redisOptions = {}, natMap, useSRVRecords } = options;
  // ioredis would look the records up at each connection; here they would be fixed addresses.
  if (useSRVRecords) throw redisRefusals.clusterRecords();
  const seeds = new Map(nodes.map(seed));
  // Its types leave it out, but ioredis reads it from here.
  const { keyPrefix = '' } = {
    ...(redisOptions as RedisOptions),
    ...(options.keyPrefix && { keyPrefix: options.keyPrefix }),
  };
  return {
    seeds: [...seeds.keys()],
    keyPrefix,
    optionsFor(address) {
      const colon = address.lastIndexOf(':');
      const host = address.slice(0, colon);
      const port = Number(address.slice(colon + 1));
      // A cluster has one database.
      return { ...redisOptions, ...seeds.get(address), host, port, db: 0, keyPrefix: '' };
    },
    reached(address) {
      const mapped = typeof natMap === 'function' ? natMap(address) : natMap?.[address];
      return mapped ? `${mapped.host}:${mapped.port}` : address;
    },
  };
}

/** Address of a start node, and its connection options. */
function seed(node: unknown): [string, RedisOptions] {
  if (typeof node === 'object' && node !== null) {
    assertNode('cluster.nodes', node);
    const { host = '127.0.0.1', port = 6379 } = node as RedisOptions;
    return [`${host}:${Number(port)}`, node as RedisOptions];
  }
  if (typeof node !== 'string' && typeof node !== 'number') throw redisRefusals.clusterNode(node);
  const { host, port, username, password, tls } = readUrl(urlOf(String(node)), 'cluster.nodes');
  return [`${host}:${port}`, { ...(username && { username }), ...(password && { password }), ...(tls && { tls }) }];
}

/** ioredis takes a port, and a host without a protocol, for a node. */
function urlOf(node: string): string {
  if (/^\d+$/.test(node)) return `redis://127.0.0.1:${node}`;
  return /^\w+:\/\//.test(node) ? node : `redis://${node}`;
}
