import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import type { LockBackend } from '../../../lib/core/lock-backend.js';
import type { LockPlace } from 'nestjs-redis-lock/testing';

/** Locks in the memory of this process, on the system's clock. */
export class MemoryPlace implements LockPlace {
  private readonly server = new MemoryLockServer();

  backend(options: Parameters<LockPlace['backend']>[0] = {}): LockBackend {
    return new MemoryLockBackend({ server: this.server, ...options });
  }

  crash(backend: LockBackend): Promise<void> {
    return backend.close();
  }

  async close(): Promise<void> {}
}
