import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { SentinelGroup } from '../support/sentinel-group.js';
import { RedisTarget } from './redis-target.js';

describe('locks on a master that Sentinel watches', () =>
  lockBackendConformance(async () => {
    const group = await SentinelGroup.start();
    return new RedisTarget((await group.master()).url, group.connection, () => group.stop());
  }));
