import { Redis } from 'ioredis';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import { RedisBackend, type RedisConnection } from '../../lib/backends/redis/index.js';
import { KeptLog } from '../../conformance/kept-log.js';
import type { ConformanceTarget, TargetOptions } from 'nestjs-redis-lock-conformance';

/** Locks on one Redis server, with the given connection options. Other servers that were started for it end with it. */
export class RedisTarget implements ConformanceTarget {
  private readonly admin: Redis;

  constructor(
    private readonly url: string,
    private readonly connection: RedisConnection = url,
    private readonly stop: () => Promise<void> = async () => undefined,
  ) {
    this.admin = new Redis(url);
  }

  backend({ poll = 5_000, commandTimeout = 5_000, polling = false }: TargetOptions = {}): LockBackend {
    const redis = polling ? pollingClient(this.url) : this.connection;
    return new RedisBackend({ redis, poll, commandTimeout, log: new KeptLog() });
  }

  async crash(backend: LockBackend, clientId: string): Promise<void> {
    await backend.close();
    // The server may read the end of that connection after commands of others.
    while ((await this.admin.pubsub('CHANNELS', `*${clientId}`)).length > 0);
  }

  async close(): Promise<void> {
    await this.admin.quit();
    await this.stop();
  }
}

/** A client whose duplicates cannot subscribe: commands work, no message ever arrives. */
export function pollingClient(url: string): Redis {
  const client = new Redis(url, { lazyConnect: true });
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const copy = duplicate(override);
    copy.subscribe = () => Promise.reject(new Error('this client cannot subscribe'));
    return copy;
  };
  return client;
}
