import { describe } from '@jest/globals';
// #region suite
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { MemoryLockBackend, MemoryLockServer } from 'nestjs-redis-lock/testing';

describe('locks in memory', () =>
  lockBackendConformance(async () => {
    const server = new MemoryLockServer();
    return {
      backend: (options) => new MemoryLockBackend({ server, ...options }),
      crash: (backend) => backend.close(),
      close: async () => {},
    };
  }));
// #endregion
