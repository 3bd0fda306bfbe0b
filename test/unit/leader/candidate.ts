import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { LockConnection } from '../../../lib/connection/lock.connection.js';
import { RedisLockService } from '../../../lib/connection/redis-lock.service.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import { lockDefaults, type ResolvedLockOptions } from '../../../lib/core/options.js';
import type { CampaignOptions, Leadership } from '../../../lib/leader/leadership.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { WatchedBackend } from '../../../conformance/watched-backend.js';

/** The place where candidates of one election meet, and its time. */
export class Constituency {
  readonly clock = new VirtualClock();
  readonly server = new MemoryLockServer({ clock: this.clock });
}

/** A process with an election in virtual time. */
export class Candidate {
  readonly log = new KeptLog();
  readonly backend: WatchedBackend;
  readonly client: LockClient;
  readonly connection: LockConnection;
  readonly locks: RedisLockService;
  /** What happened to its leaderships, in order. */
  readonly events: string[] = [];
  readonly terms: Leadership[] = [];

  constructor({ server }: Constituency, defaults: Partial<ResolvedLockOptions> = {}) {
    this.backend = new WatchedBackend(new MemoryLockBackend({ server, poll: '1m' }));
    this.client = new LockClient(
      this.backend,
      { defaults: { ...lockDefaults, ...defaults }, maxWaiters: 10 },
      this.log,
    );
    const settings = { name: 'default', strict: false, shutdownTimeout: 500 };
    this.connection = new LockConnection(this.client, settings);
    this.locks = new RedisLockService(this.connection);
  }

  get election() {
    return this.connection.election('scheduler');
  }

  /** Leads until its signal aborts, and for `after` ms more. */
  campaign(options?: CampaignOptions, after?: () => Promise<unknown>): Promise<void> {
    return this.election.campaign(async (leadership) => {
      this.terms.push(leadership);
      await ended(leadership.signal);
      await after?.();
    }, options);
  }

  /** Lines of the log that are no news of elections. */
  get problems(): string[] {
    return this.log.lines.filter((line) => !line.startsWith('log '));
  }
}

export const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });
