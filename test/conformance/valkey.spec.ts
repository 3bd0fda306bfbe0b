import { describe } from '@jest/globals';
import { conformanceOf } from '../../conformance/lock-backend.conformance.js';
import { findValkeyServer, startRedis } from '../support/redis-server.js';
import { RedisTarget } from './redis-target.js';

const binary = findValkeyServer();
if (
  // What is above the port knows no server: redis.spec.ts shows it.
  binary === undefined
)
  console.warn('SKIPPED: locks on one Valkey (no valkey-server on the PATH)');

// What is above the port knows no server: redis.spec.ts shows it.
(binary === undefined ? describe.skip : describe)('locks on one Valkey', () =>
  conformanceOf(['backend'], async () => {
    const server = await startRedis({ binary });
    return new RedisTarget(server.url, server.url, () => server.stop());
  }),
);
