import { type LockView, type MemoryFaults, MemoryLockBackend, MemoryLockServer } from '../backends/memory/index.js';
import type { Duration } from '../core/duration.js';
import { LockClient } from '../core/lock-client.js';
import type { LockLog } from '../core/lock-log.js';
import { LockConnection } from '../redis-lock.connection.js';
import { resolveModuleOptions } from '../redis-lock.options.js';
import { RedisLockService } from '../redis-lock.service.js';
import { VirtualClock } from './virtual-clock.js';

export interface LockTestBedOptions {
  /**
   * The time of this bed. Beds that are used side by side want the same one.
   * @default one of its own
   */
  clock?: VirtualClock;
}

/**
 * What a test holds in its hands: the place where the locks live, its time, and what can go wrong there. RedisLockTestingModule
 * provides it. Applications that are given the same bed contend with each other, like processes on one Redis.
 */
export class LockTestBed {
  readonly clock: VirtualClock;
  readonly server: MemoryLockServer;

  constructor({ clock = new VirtualClock() }: LockTestBedOptions = {}) {
    this.clock = clock;
    this.server = new MemoryLockServer({ clock });
  }

  /** What can go wrong, on demand: locks, messages and answers are lost or late, the server is away. */
  get faults(): MemoryFaults {
    return this.server.faults;
  }

  /** Who holds the lock, and who waits for it: connections by their names (`default`), other processes by theirs. */
  inspect(key: string): LockView {
    return this.server.inspect(key);
  }

  /**
   * The locks as another process uses them. It queues up like everybody else, and never shares a hold with the application.
   * @param name what `inspect` calls it; default 'elsewhere'
   */
  otherProcess(name = 'elsewhere'): RedisLockService {
    const { shutdownTimeout, strict, ...settings } = resolveModuleOptions({});
    const backend = new MemoryLockBackend({ server: this.server, label: name });
    const client = new LockClient(backend, settings, silence);
    return new RedisLockService(new LockConnection(client, { name, strict, shutdownTimeout }, silence));
  }

  /** Lets time pass: leases run out, waits end, renewals are due, each at its time. See `VirtualClock.advance`. */
  advance(duration: Duration): Promise<void> {
    return this.clock.advance(duration);
  }

  /** Time passes and nothing can run: a blocked event loop, a paused process. See `VirtualClock.stall`. */
  stall(duration: Duration): void {
    this.clock.stall(duration);
  }

  /** Resolves when this much time has passed: work that takes long. See `VirtualClock.sleep`. */
  sleep(duration: Duration): Promise<void> {
    return this.clock.sleep(duration);
  }

  /** Lets time pass until the promise settles, and answers it. See `VirtualClock.until`. */
  until<T>(promise: PromiseLike<T>, options?: { readonly atMost?: Duration }): Promise<T> {
    return this.clock.until(promise, options);
  }
}

/** What goes wrong in another process is in that one's log. */
const silence: LockLog = { log() {}, warn() {}, error() {} };
