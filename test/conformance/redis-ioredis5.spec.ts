import { describe } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { sharedRedisUrl } from '../support/redis-server.js';
import { lockBackendConformance } from './lock-backend.conformance.js';
import { lockClientConformance } from './lock-client.conformance.js';
import { RedisPlace } from './redis-place.js';

const open = async (): Promise<RedisPlace> => {
  const client = new Redis5(sharedRedisUrl(), { lazyConnect: true });
  return new RedisPlace(sharedRedisUrl(), client as unknown as Redis);
};

describe('locks on one Redis, by a client of ioredis 5', () => {
  describe('the backend', () => lockBackendConformance(open));
  describe('a client', () => lockClientConformance(open));
});
