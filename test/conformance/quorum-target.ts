import { Redis } from 'ioredis';
import type { ConformanceTarget, TargetOptions } from 'nestjs-redis-lock-conformance';
import { QuorumBackend } from '../../lib/backends/quorum/quorum-backend.js';
import { RedisBackend } from '../../lib/backends/redis/index.js';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import { KeptLog } from '../../conformance/kept-log.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { pollingClient } from './redis-target.js';

/** Locks over a quorum of real Redis servers, some of which are dead. */
export class QuorumTarget implements ConformanceTarget {
  private constructor(
    private readonly servers: readonly RedisServer[],
    private readonly admins: readonly Redis[],
  ) {}

  static async open(size: number, dead = 0): Promise<QuorumTarget> {
    const servers = await Promise.all(Array.from({ length: size }, () => startRedis()));
    await Promise.all(servers.slice(size - dead).map((server) => server.kill()));
    return new QuorumTarget(
      servers,
      servers.slice(0, size - dead).map(({ url }) => new Redis(url)),
    );
  }

  backend({ poll = 5_000, commandTimeout = 5_000, polling = false }: TargetOptions = {}): LockBackend {
    const log = new KeptLog();
    const nodes = this.servers.map(({ url }) => {
      const redis = polling ? pollingClient(url) : url;
      return new RedisBackend({ redis, poll, commandTimeout, node: { uptime: false }, log });
    });
    return new QuorumBackend({ nodes, log });
  }

  async crash(backend: LockBackend, clientId: string): Promise<void> {
    await backend.close();
    // The servers may read the end of their connections after commands of others.
    for (const admin of this.admins) while ((await admin.pubsub('CHANNELS', `*${clientId}`)).length > 0);
  }

  async close(): Promise<void> {
    for (const admin of this.admins) admin.disconnect();
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}
