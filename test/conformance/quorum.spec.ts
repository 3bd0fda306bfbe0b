import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { quorumCapabilities } from '../../lib/backends/quorum/index.js';
import { partsOfSuite, QuorumTarget } from './quorum-target.js';

describe('locks over a quorum of three Redis servers', () =>
  lockBackendConformance(() => QuorumTarget.open(3), partsOfSuite('backend', 'handoff'), quorumCapabilities));
