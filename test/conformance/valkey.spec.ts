import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { findValkeyServer, startRedis } from '../support/redis-server.js';
import { RedisTarget } from './redis-target.js';

const binary = findValkeyServer();
if (binary === undefined) console.warn('SKIPPED: locks on one Valkey (no valkey-server on the PATH)');

(binary === undefined ? describe.skip : describe)('locks on one Valkey', () =>
  lockBackendConformance(async () => {
    const server = await startRedis({ binary });
    return new RedisTarget(server.url, server.url, () => server.stop());
  }),
);
