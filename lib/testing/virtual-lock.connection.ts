import type { LockClient } from '../core/lock-client.js';
import type { LockLog } from '../core/lock-log.js';
import { longestDuration } from '../core/duration.js';
import { LockConnection, type LockConnectionSettings } from '../redis-lock.connection.js';
import type { VirtualClock } from './virtual-clock.js';

/**
 * A connection in virtual time. Nobody lets time pass while the application closes, so work that hangs inside a lock would keep
 * it from closing for ever: time passes by itself then, up to `shutdownTimeout` where that is needed.
 */
export class VirtualLockConnection extends LockConnection {
  constructor(
    client: LockClient,
    settings: LockConnectionSettings,
    log: LockLog,
    private readonly clock: VirtualClock,
  ) {
    super(client, settings, log);
  }

  override beforeApplicationShutdown(): Promise<void> {
    return this.clock.until(super.beforeApplicationShutdown(), { atMost: longestDuration });
  }
}
