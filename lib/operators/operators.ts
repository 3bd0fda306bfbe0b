import type { Hold } from '../core/hold.js';
import type { LockClient } from '../core/lock-client.js';
import type { ClientListener } from '../core/observation.js';
import { liveConnections } from '../diagnostics/live-connections.js';
import { Activity } from './activity.js';
import { Health } from './health.js';
import { LiveLocks, type OwnElection } from './live-locks.js';
import { LockViews } from './lock-views.js';

/** What people and machines ask of one client. No lock waits for it. */
export class Operators implements ClientListener {
  readonly live: LiveLocks;
  readonly health: Health;
  readonly activity: Activity;
  readonly views: LockViews;

  /** @param elections of this client, by name */
  constructor(client: LockClient, elections: ReadonlyMap<string, OwnElection> = new Map()) {
    this.live = new LiveLocks(client, elections);
    this.health = new Health(client);
    this.activity = new Activity(client, this.live, () => this.health.problems());
    this.views = new LockViews(client, (release) => this.activity.forced(release));
    client.observation.listener = this;
  }

  /** @param tells other processes what callers of this one wait for */
  start(tells: boolean): void {
    liveConnections.add(this.live);
    if (tells) this.activity.start();
  }

  stop(): void {
    this.activity.stop();
    liveConnections.delete(this.live);
  }

  lost(hold: Hold): void {
    this.activity.lost(hold);
    this.health.lost(hold.lost!.reason);
  }
}
