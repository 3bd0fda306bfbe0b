import { after, afterEach, before, describe, it } from 'node:test';
import type { AcquireReply, AcquireRequest, LockBackend } from 'nestjs-redis-lock/backend';
import { type ConformanceTarget, lockBackendConformance, type TestFramework } from 'nestjs-redis-lock-conformance';
import { MemoryLockBackend, MemoryLockServer } from 'nestjs-redis-lock/testing';

/** A backend of the application: here one in memory that counts. */
class CountingBackend extends MemoryLockBackend implements LockBackend {
  static asked = 0;
  override acquire(request: AcquireRequest): Promise<AcquireReply> {
    CountingBackend.asked += 1;
    return super.acquire(request);
  }
}

let kept = 0;
const framework: TestFramework = {
  describe,
  it: (title, body) =>
    it(title, async () => {
      await body();
      kept += 1;
    }),
  beforeAll: before,
  afterEach,
  afterAll: after,
};

async function open(): Promise<ConformanceTarget> {
  const server = new MemoryLockServer();
  return {
    backend: (options) => new CountingBackend({ server, ...options }),
    crash: (backend) => backend.close(),
    close: async () => {},
  };
}

lockBackendConformance(open, framework);
process.on('exit', () => {
  if (kept > 100 && CountingBackend.asked > 100) console.log('an own backend keeps its promises');
});
