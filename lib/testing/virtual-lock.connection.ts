import { MemoryLockBackend, type MemoryLockServer } from '../backends/memory/index.js';
import { describe } from '../errors/describe.js';
import { longestDuration } from '../core/duration.js';
import { LockClient } from '../core/lock-client.js';
import type { LockKey } from '../core/lock-key.js';
import { type LockLog, silence } from '../core/lock-log.js';
import type { LockScope, Lock } from '../core/lock.js';
import type { ResolvedLockOptions } from '../core/options.js';
import { LockConnection, type LockConnectionSettings, type NestingWatch } from '../connection/lock.connection.js';
import { type ResolvedModuleOptions, resolveModuleOptions } from '../nest/module/resolve-options.js';
import type { VirtualClock } from './virtual-clock.js';

/** Where the locks of a test live, and its time. */
export interface Bed {
  readonly clock: VirtualClock;
  readonly server: MemoryLockServer;
}

/**
 * A connection in virtual time. No test lets time pass while the application closes, so work that hangs inside a lock would keep it from
 * closing forever. So time then passes by itself, up to `shutdownTimeout` if needed.
 */
export class VirtualLockConnection extends LockConnection {
  constructor(
    client: LockClient,
    settings: LockConnectionSettings,
    private readonly clock: VirtualClock,
  ) {
    super(client, settings);
  }

  override enter(key: LockKey, options: ResolvedLockOptions): Promise<LockScope> {
    return this.clock.watched(nameOf(key), super.enter(key, options));
  }

  override acquire(key: LockKey, options: ResolvedLockOptions): Promise<Lock> {
    return this.clock.watched(nameOf(key), super.acquire(key, options));
  }

  override beforeApplicationShutdown(): Promise<void> {
    return this.clock.until(super.beforeApplicationShutdown(), { atMost: longestDuration });
  }
}

/** The client of a bed that a module with these options has. @param label what `inspect` calls it */
export const backendOn = (
  { server }: Bed,
  label: string,
  { commandTimeout } = resolveModuleOptions({}),
): MemoryLockBackend => new MemoryLockBackend({ server, label, commandTimeout });

interface BedSettings {
  /** What `inspect` calls it. */
  readonly name: string;
  /** @default those of a module without options */
  readonly options?: ResolvedModuleOptions;
  /** Failures in another process belong to the log of that process; a test looks at errors. @default none */
  readonly log?: LockLog;
  readonly nesting?: NestingWatch | undefined;
  readonly backend?: MemoryLockBackend;
}

/** A connection to a bed, as a module with these options has it. */
export function connectionTo(
  bed: Bed,
  { name, options = resolveModuleOptions({}), log = silence, nesting, backend }: BedSettings,
): VirtualLockConnection {
  const { defaults, maxWaiters, shutdownTimeout, strict } = options;
  return new VirtualLockConnection(
    new LockClient(
      backend ?? backendOn(bed, name, options),
      { defaults, maxWaiters, connection: name, watchesHandles: false },
      log,
    ),
    { name, strict, shutdownTimeout, nesting },
    bed.clock,
  );
}

const nameOf = (key: LockKey): string => `the lock ${[key].flat().map(describe).join(', ')}`;
