import type { Cluster } from 'ioredis';
import { ClusterBackend } from '../../lib/backends/redis/cluster/cluster-backend.js';
import type { RedisClusterOptions } from '../../lib/backends/redis/index.js';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import type { ConformanceTarget, TargetOptions } from 'nestjs-redis-lock-conformance';
import type { ClusterGroup } from '../support/cluster-group.js';
import { KeptLog } from '../../conformance/kept-log.js';

/** Locks on a cluster, with the given connection options. */
export class ClusterTarget implements ConformanceTarget {
  constructor(
    private readonly group: ClusterGroup,
    private readonly connection: Cluster | RedisClusterOptions = group.connection,
  ) {}

  backend({ poll = 5_000, commandTimeout = 5_000, polling = false }: TargetOptions = {}): LockBackend {
    // A client that may not subscribe gets no message.
    const cluster = polling
      ? { ...this.group.connection, options: { redisOptions: this.group.pollingUser } }
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
    // The caller that started the cluster stops it.
  }
}
