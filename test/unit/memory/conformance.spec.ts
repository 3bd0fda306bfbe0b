import { describe } from '@jest/globals';
import { lockBackendConformance } from '../../conformance/lock-backend.conformance.js';
import { lockClientConformance } from '../../conformance/lock-client.conformance.js';
import { MemoryPlace } from './memory-place.js';

const open = async (): Promise<MemoryPlace> => new MemoryPlace();

describe('locks in memory', () => {
  describe('the backend', () => lockBackendConformance(open));
  describe('a client', () => lockClientConformance(open));
  describe('a client without local hand-off', () => lockClientConformance(open, { maxLocalHandoffs: 0 }));
});
