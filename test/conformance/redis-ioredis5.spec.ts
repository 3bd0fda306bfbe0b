import { describe } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { conformanceOf } from '../../conformance/lock-backend.conformance.js';
import { sharedRedisUrl } from '../support/redis-server.js';
import { RedisTarget } from './redis-target.js';

// What is above the port knows no ioredis: redis.spec.ts shows it.
describe('locks on one Redis, by a client of ioredis 5', () =>
  conformanceOf(['backend'], async () => {
    const client = new Redis5(sharedRedisUrl(), { lazyConnect: true });
    return new RedisTarget(sharedRedisUrl(), client as unknown as Redis);
  }));
