import { describe } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { sharedRedisUrl } from '../support/redis-server.js';
import { RedisTarget } from './redis-target.js';

describe('locks on one Redis, by a client of ioredis 5', () =>
  lockBackendConformance(async () => {
    const client = new Redis5(sharedRedisUrl(), { lazyConnect: true });
    return new RedisTarget(sharedRedisUrl(), client as unknown as Redis);
  }));
