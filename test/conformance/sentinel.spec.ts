import { describe } from '@jest/globals';
import { conformanceOf } from '../../conformance/lock-backend.conformance.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { RedisTarget } from './redis-target.js';

// What is above the port knows no Sentinel: redis.spec.ts shows it.
describe('locks on a master that Sentinel watches', () =>
  conformanceOf(['backend'], async () => {
    const group = await SentinelGroup.start();
    return new RedisTarget((await group.master()).url, group.connection, () => group.stop());
  }));
