import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { sharedRedisUrl } from '../support/redis-server.js';
import { RedisTarget } from './redis-target.js';

describe('locks on one Redis, by URL (ioredis 6)', () =>
  lockBackendConformance(async () => new RedisTarget(sharedRedisUrl())));
