import type { MemoryLockBackend } from '../backends/memory/index.js';
import { type Duration, parseDuration } from '../core/duration.js';
import { RedisLockService } from '../connection/redis-lock.service.js';
import { backendOn, type Bed, connectionTo } from './virtual-lock.connection.js';

/** The locks as another process uses them. A test can stop that process, let it continue, and kill it: time passes for all others. */
export class OtherProcess extends RedisLockService {
  readonly #bed: Bed;
  readonly #backend: MemoryLockBackend;

  private constructor(bed: Bed, name: string, backend: MemoryLockBackend) {
    super(connectionTo(bed, { name, backend }));
    this.#bed = bed;
    this.#backend = backend;
  }

  /** @internal */
  static on(bed: Bed, name: string): OtherProcess {
    return new OtherProcess(bed, name, backendOn(bed, name));
  }

  /**
   * It stands still, as after SIGSTOP: none of its timers runs, it renews nothing, its `sleep` does not end, and messages and replies wait.
   * Stopped for longer than its lease, it loses its locks and does not know it yet. Other code of the test goes on.
   */
  stop(): void {
    this.#backend.stop();
  }

  /**
   * It goes on, as after SIGCONT. `isHeld` and `signal.aborted` of its locks are right at once. Its timers and replies, which are late, run
   * with the next `advance` or `until`.
   */
  continue(): void {
    this.#backend.continue();
  }

  /** It dies, as after SIGKILL: its locks end with their leases, and none of its calls settles. */
  kill(): void {
    this.#backend.kill();
  }

  /** Resolves when this much time has passed and the process runs: its work, which stands still with it. */
  sleep(duration: Duration): Promise<void> {
    const ms = parseDuration('sleep', duration, { min: 0 });
    return this.#bed.clock.watched('a sleep', new Promise((resolve) => this.#backend.clock.timer(ms, resolve)));
  }
}
