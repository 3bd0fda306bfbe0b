import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { quorumCapabilities } from '../../lib/backends/quorum/index.js';
import { partsOfSuite, QuorumTarget } from './quorum-target.js';

describe('locks over a quorum of five Redis servers, two of which are dead', () =>
  lockBackendConformance(() => QuorumTarget.open(5, 2), partsOfSuite('backend', 'strict'), quorumCapabilities));
