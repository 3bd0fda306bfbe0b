import { describe } from '@jest/globals';
import { sharedRedisUrl } from '../support/redis-server.js';
import { lockBackendConformance } from './lock-backend.conformance.js';
import { lockClientConformance } from './lock-client.conformance.js';
import { RedisPlace } from './redis-place.js';

const open = async (): Promise<RedisPlace> => new RedisPlace(sharedRedisUrl());

describe('locks on one Redis, by URL (ioredis 6)', () => {
  describe('the backend', () => lockBackendConformance(open));
  describe('a client', () => lockClientConformance(open));
  describe('a client without local hand-off', () => lockClientConformance(open, { maxLocalHandoffs: 0 }));
});
