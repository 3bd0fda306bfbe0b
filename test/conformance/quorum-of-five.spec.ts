import { describe } from '@jest/globals';
import { conformanceOf } from '../../conformance/lock-backend.conformance.js';
import { quorumCapabilities } from '../../lib/backends/quorum/quorum-backend.js';
import { QuorumTarget } from './quorum-target.js';

// The other kind of client: see quorum.spec.ts.
describe('locks over a quorum of five Redis servers, two of which are dead', () =>
  conformanceOf(['backend', 'strict'], () => QuorumTarget.open(5, 2), quorumCapabilities));
