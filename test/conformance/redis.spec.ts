import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock/testing';
import { sharedRedisUrl } from '../support/redis-server.js';
import { RedisPlace } from './redis-place.js';

describe('locks on one Redis, by URL (ioredis 6)', () =>
  lockBackendConformance(async () => new RedisPlace(sharedRedisUrl())));
