import { describe } from '@jest/globals';
import { conformanceOf } from '../../conformance/lock-backend.conformance.js';
import { quorumCapabilities } from '../../lib/backends/quorum/quorum-backend.js';
import { QuorumTarget } from './quorum-target.js';

// Each kind of client runs over a quorum of three or of five. Running both over both would take twice the time and show no more.
describe('locks over a quorum of three Redis servers', () =>
  conformanceOf(['backend', 'handoff'], () => QuorumTarget.open(3), quorumCapabilities));
