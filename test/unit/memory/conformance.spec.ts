import { describe } from '@jest/globals';
import { lockBackendConformance } from 'nestjs-redis-lock/testing';
import { MemoryPlace } from './memory-place.js';

describe('locks in memory', () => lockBackendConformance(async () => new MemoryPlace()));
