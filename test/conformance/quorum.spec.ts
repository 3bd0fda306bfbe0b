import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock/testing';
import { quorumCapabilities } from '../../lib/backends/quorum/index.js';
import { partsOfSuite, QuorumPlace } from './quorum-place.js';

describe('locks over a quorum of three Redis servers', () =>
  lockBackendConformance(() => QuorumPlace.open(3), partsOfSuite('the backend', 'a client'), quorumCapabilities));
