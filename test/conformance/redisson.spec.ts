import { afterAll, describe } from '@jest/globals';
import type { ConformanceTarget, TargetOptions } from 'nestjs-redis-lock-conformance';
import { KeptLog } from '../../conformance/kept-log.js';
import { conformanceOf, type SuitePart } from '../../conformance/lock-backend.conformance.js';
import { ClusterBackend } from '../../lib/backends/redis/cluster/cluster-backend.js';
import { RedissonBackend, redissonCapabilities } from '../../lib/backends/redis/redisson/redisson-backend.js';
import type { LockBackend } from '../../lib/core/lock-backend.js';
import { ClusterGroup } from '../support/cluster-group.js';
import { sharedRedisUrl } from '../support/redis-server.js';
import { pollingClient } from './redis-target.js';

/** Locks in Redisson's format on a real Redis. */
class RedissonTarget implements ConformanceTarget {
  constructor(private readonly tokens: 'own' | 'fenced') {}

  backend({ poll = 5_000, commandTimeout = 5_000, polling = false }: TargetOptions = {}): LockBackend {
    const redis = polling ? pollingClient(sharedRedisUrl()) : sharedRedisUrl();
    return new RedissonBackend({ redis, tokens: this.tokens, poll, commandTimeout, log: new KeptLog() });
  }

  crash(backend: LockBackend): Promise<void> {
    return backend.close();
  }

  async close(): Promise<void> {
    // The server is shared.
  }
}

/** The same on a cluster. */
class RedissonClusterTarget implements ConformanceTarget {
  constructor(private readonly group: ClusterGroup) {}

  backend({ poll = 5_000, commandTimeout = 5_000, polling = false }: TargetOptions = {}): LockBackend {
    const options = { poll, commandTimeout, log: new KeptLog() };
    const { connection, pollingUser } = this.group;
    const cluster = polling ? { ...connection, options: { redisOptions: pollingUser } } : connection;
    return new RedissonBackend(options, (format) => new ClusterBackend({ ...options, cluster, keyPrefix: '', format }));
  }

  crash(backend: LockBackend): Promise<void> {
    return backend.close();
  }

  async close(): Promise<void> {
    // Stopped below.
  }

  refuses(name: string): boolean {
    return /[{}]/.test(name.replace('{x}', ''));
  }
}

// The tokens, and where the keys are, differ at the port. What is above it runs once.
describe.each([
  ['own', ['backend', 'handoff', 'strict']],
  ['fenced', ['backend']],
] satisfies Array<['own' | 'fenced', SuitePart[]]>)("locks in Redisson's format, with %s tokens", (tokens, parts) =>
  conformanceOf(parts, async () => new RedissonTarget(tokens), { ...redissonCapabilities, dated: tokens === 'own' }),
);

describe("locks in Redisson's format on a cluster of three masters with replicas", () => {
  let group: Promise<ClusterGroup> | undefined;
  const target = async (): Promise<ConformanceTarget> =>
    new RedissonClusterTarget(await (group ??= ClusterGroup.start()));
  conformanceOf(['backend'], target, redissonCapabilities);
  afterAll(async () => (await group)?.stop());
});
