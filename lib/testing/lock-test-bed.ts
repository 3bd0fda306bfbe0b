import { type MemoryFaults, MemoryLockServer } from '../backends/memory/index.js';
import type { Duration } from '../core/duration.js';
import { connectionsWanted } from '../nest/method/connection-slot.js';
import type { LockConnection } from '../connection/lock.connection.js';
import type { LockInfo } from '../core/lock-info.js';
import { RedisLockService } from '../connection/redis-lock.service.js';
import { OtherProcess } from './other-process.js';
import { defaultConnection } from '../connection/connection.options.js';
import { testingRefusals } from './testing.messages.js';
import { VirtualClock } from './virtual-clock.js';
import { connectionTo } from './virtual-lock.connection.js';

export interface LockTestBedOptions {
  /**
   * The time of this bed. Beds that are used side by side want the same one.
   * @default one of its own
   */
  clock?: VirtualClock | undefined;
}

/**
 * What a test controls: the locks in memory, their time, and faults. RedisLockTestingModule provides it. Applications that are given the
 * same bed contend with each other, like processes on one Redis.
 */
export class LockTestBed {
  readonly clock: VirtualClock;
  readonly server: MemoryLockServer;
  private connection: LockConnection | undefined;

  constructor({ clock = new VirtualClock() }: LockTestBedOptions = {}) {
    this.clock = clock;
    this.server = new MemoryLockServer({ clock });
  }

  /** Faults on demand: locks, messages and replies are lost or late, the server is unavailable. */
  get faults(): MemoryFaults {
    return this.server.faults;
  }

  /** Who holds the lock and who waits for it: connections by their names (`default`), other processes by theirs. */
  inspect(key: string): LockInfo {
    return this.server.inspect(key);
  }

  /**
   * The locks as another process uses them. It waits in the queue like every process, and never shares a hold with the application. The
   * test can stop it, let it continue, and kill it.
   * @param name what `inspect` calls it; default 'elsewhere'
   */
  otherProcess(name = 'elsewhere'): OtherProcess {
    return OtherProcess.on(this, name);
  }

  /** The locks of the process under test, for an object that you create yourself: `new Orders(bed.locks(), …)`. */
  locks(): RedisLockService {
    return new RedisLockService(this.own());
  }

  /**
   * Gives the connection of its locked methods to an object that you create yourself. Nest does this for its own providers: `const orders =
   * bed.connect(new Orders(…))`. All such objects belong to one process, the one of `locks()`.
   * @param connection name of the connection, if the methods name one (option `connection`): each connection has its own bed
   * @returns the object itself
   * @throws LockConfigurationError if none of its methods is locked on that connection.
   */
  connect<T extends object>(instance: T, connection: string = defaultConnection): T {
    const slot = connectionsWanted(instance).get(connection);
    if (slot === undefined) throw testingRefusals.nothingToConnect(instance.constructor.name, connection);
    (instance as Record<symbol, unknown>)[slot] = this.own(connection);
    return instance;
  }

  private own(name: string = defaultConnection): LockConnection {
    this.connection ??= connectionTo(this, { name });
    return this.connection;
  }

  /** Lets time pass: leases run out, waits end, renewals are due, each at its time. See `VirtualClock.advance`. */
  advance(duration: Duration): Promise<void> {
    return this.clock.advance(duration);
  }

  /** Time passes, and no code can run: a blocked event loop, a paused process. See `VirtualClock.stall`. */
  stall(duration: Duration): void {
    this.clock.stall(duration);
  }

  /** Resolves when this much time has passed: work that takes long. See `VirtualClock.sleep`. */
  sleep(duration: Duration): Promise<void> {
    return this.clock.sleep(duration);
  }

  /** Lets time pass until the promise settles, and returns its result. See `VirtualClock.until`. */
  until<T>(promise: PromiseLike<T>, options?: { readonly atMost?: Duration | undefined }): Promise<T> {
    return this.clock.until(promise, options);
  }
}
