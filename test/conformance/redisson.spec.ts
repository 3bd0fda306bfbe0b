import { describe } from '@jest/globals';
import { type ConformanceTarget, lockBackendConformance, type TargetOptions } from 'nestjs-redis-lock/backend';
import { KeptLog } from '../../conformance/kept-log.js';
import { RedissonBackend, redissonCapabilities } from '../../lib/backends/redis/redisson/redisson-backend.js';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import { sharedRedisUrl } from '../support/redis-server.js';
import { pollingClient } from './redis-target.js';

/** Locks in Redisson's format on a real Redis. */
class RedissonTarget implements ConformanceTarget {
  backend({ poll = 5_000, commandTimeout = 5_000, polling = false }: TargetOptions = {}): LockBackend {
    const redis = polling ? pollingClient(sharedRedisUrl()) : sharedRedisUrl();
    return new RedissonBackend({ redis, poll, commandTimeout, log: new KeptLog() });
  }

  crash(backend: LockBackend): Promise<void> {
    return backend.close();
  }

  async close(): Promise<void> {
    // The server is shared.
  }
}

describe("locks in Redisson's format", () => {
  lockBackendConformance(async () => new RedissonTarget(), undefined, redissonCapabilities);
});
