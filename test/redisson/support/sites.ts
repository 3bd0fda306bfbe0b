import { type Cluster, Cluster as ClusterClient, Redis } from 'ioredis';
import type { LockClientOptions } from 'nestjs-redis-lock/client';
import { slotOfKey } from '../../../lib/backends/redis/cluster/slots.js';
import { ClusterGroup } from '../../support/cluster-group.js';
import { startRedis } from '../../support/redis-server.js';

/** Redis, as both sides use it. */
export interface Site {
  /** How to reach it: this library. */
  readonly connection: Pick<LockClientOptions, 'redis' | 'cluster'>;
  /** How to reach it: a peer (Peer.java). */
  readonly mode: string;
  readonly address: string;
  /** The same for this library, with a link on the way to one server. */
  through(server: Redis, link: { readonly url: string }): Site['connection'];
  /** The test's own connection. */
  readonly redis: Redis | Cluster;
  /** A connection to the server that has a name. */
  serverOf(name: string): Promise<Redis>;
  /** Ends everything that was started. */
  stop(): Promise<void>;
}

export async function oneRedis(): Promise<Site> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  return {
    connection: { redis: server.url },
    through: (_server, link) => ({ redis: link.url }),
    mode: 'single',
    address: server.url,
    redis,
    serverOf: async () => redis,
    async stop() {
      redis.disconnect();
      await server.stop();
    },
  };
}

/** A cluster, and its parts, for what a test does to it. */
export interface ClusterSite extends Site {
  readonly group: ClusterGroup;
}

/** Three masters with replicas. */
export async function aCluster(): Promise<ClusterSite> {
  const group = await ClusterGroup.start();
  const urls = group.masters.map(({ url }) => url);
  const redis = new ClusterClient(urls);
  return {
    group,
    connection: { cluster: group.connection },
    through({ options: { port } }, link) {
      const { hostname: host, port: other } = new URL(link.url);
      const natMap = { [`127.0.0.1:${port}`]: { host, port: Number(other) } };
      return { cluster: { ...group.connection, options: { natMap } } };
    },
    mode: 'cluster',
    address: urls.join(),
    redis,
    serverOf: async (name) => group.admin(await group.ownerOf(slotOfKey(name))),
    async stop() {
      redis.disconnect();
      await group.stop();
    },
  };
}

/** How many subscriptions the server of a lock has for a channel of that lock, in either way. */
export async function listenersOf(site: Site, name: string, prefix = 'redisson_lock__channel'): Promise<number> {
  const server = await site.serverOf(name);
  const channel = `${prefix}:{${name}}`;
  const counts = await Promise.all(['NUMSUB', 'SHARDNUMSUB'].map((kind) => server.call('PUBSUB', kind, channel)));
  return (counts as Array<[string, number]>).reduce((sum, [, count]) => sum + Number(count), 0);
}
