import type { Cluster } from 'ioredis';
import { ClusterBackend, type RedisClusterOptions } from '../../lib/backends/redis/index.js';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import type { LockPlace, PlaceOptions } from 'nestjs-redis-lock/testing';
import type { ClusterGroup } from '../support/cluster-group.js';
import { KeptLog } from '../support/kept-log.js';

/** Locks on a cluster, reached the given way. */
export class ClusterPlace implements LockPlace {
  constructor(
    private readonly group: ClusterGroup,
    private readonly connection: Cluster | RedisClusterOptions = group.connection,
  ) {}

  backend({ poll = 5_000, commandTimeout = 5_000, deaf = false }: PlaceOptions = {}): LockBackend {
    // Who may not subscribe gets no message.
    const cluster = deaf
      ? { ...this.group.connection, options: { redisOptions: this.group.deafUser } }
      : this.connection;
    return new ClusterBackend({ cluster, poll, commandTimeout, log: new KeptLog() });
  }

  async crash(backend: LockBackend, clientId: string): Promise<void> {
    await backend.close();
    // A server may read the end of a connection after commands of others.
    for (const master of this.group.masters) {
      const admin = this.group.admin(master);
      while ((await admin.pubsub('SHARDCHANNELS', `*${clientId}`)).length > 0);
    }
  }

  async close(): Promise<void> {
    // Whoever started the cluster stops it.
  }
}
