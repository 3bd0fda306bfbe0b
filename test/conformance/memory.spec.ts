import { describe } from '@jest/globals';
// #region suite
import { lockBackendConformance } from 'nestjs-redis-lock-conformance';
import { MemoryLockBackend, MemoryLockServer, VirtualClock } from 'nestjs-redis-lock/testing';

describe('locks in memory', () =>
  lockBackendConformance(async () => {
    const clock = new VirtualClock();
    const server = new MemoryLockServer({ clock });
    return {
      clock,
      backend: (options) => new MemoryLockBackend({ server, ...options }),
      crash: (backend) => backend.close(),
      close: async () => {},
    };
  }));
// #endregion
