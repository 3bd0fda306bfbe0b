import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock/testing';
import { SentinelGroup } from '../support/sentinel-group.js';
import { RedisPlace } from './redis-place.js';

describe('locks on a master that Sentinel watches', () =>
  lockBackendConformance(async () => {
    const group = await SentinelGroup.start();
    return new RedisPlace((await group.master()).url, group.connection, () => group.stop());
  }));
