import { type Clock, systemClock } from '../../core/clock.js';
import type { ClaimRef } from '../../core/lock-backend.js';
import { LockTable } from './lock-table.js';
import { MemoryFaults } from './memory-faults.js';
import type { GrantMessage, LockView } from './table-messages.js';
import { nextTurn } from './turns.js';

export interface MemoryLockServerOptions {
  /**
   * The time of the server and of everybody who talks to it.
   * @default the system's monotonic clock
   */
  clock?: Clock;
}

/** A client that is connected. */
export interface Connection {
  /** What `inspect` calls it; undefined: its id. */
  readonly label: string | undefined;
  /** Undefined: it does not listen for messages. */
  readonly granted: ((grant: GrantMessage) => void) | undefined;
  /** Undefined as above. */
  readonly revoked: ((claim: ClaimRef) => void) | undefined;
  /** The server can be reached again. */
  readonly recovered: () => void;
}

/** The place where locks live, in the memory of this process: what one Redis server is for real. */
export class MemoryLockServer {
  readonly clock: Clock;
  /** What can go wrong, on demand. */
  readonly faults: MemoryFaults;
  /** @internal */
  readonly table: LockTable;

  private readonly connections = new Map<string, Connection>();
  private readonly labels = new Map<string, string>();
  private readonly onTheirWay = new Set<() => void>();
  private outage = { from: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
  private stopReturn: (() => void) | undefined;

  constructor({ clock = systemClock }: MemoryLockServerOptions = {}) {
    this.clock = clock;
    // As large as real ones: whatever stores a token must have room for it.
    const since1970 = performance.timeOrigin;
    this.table = new LockTable(() => since1970 + clock.now(), {
      hears: (client) => this.connections.get(client)?.granted !== undefined,
      publish: (client, grant) => {
        this.publish(client, { ...grant, grantedAt: grant.grantedAt - since1970 });
      },
      revoked: (client, claim) => void this.deliver(client, (connection) => connection.revoked?.(claim)),
    });
    this.faults = new MemoryFaults({
      lose: (name) => this.table.lose(name),
      goAway: (ms) => {
        const now = clock.now();
        this.outage = { from: this.available ? now : this.outage.from, until: now + ms };
        this.awaitReturn();
      },
    });
  }

  /** Whether it can be reached. */
  get available(): boolean {
    return this.clock.now() >= this.outage.until;
  }

  /** @internal The present or last time without an answer. */
  get away(): { readonly from: number; readonly until: number } {
    return this.outage;
  }

  /** Who holds the lock of this name, and who waits for it in the queue. */
  inspect(name: string): LockView {
    const { holder, holders, waiters } = this.table.inspect(name);
    const labelled = <T extends { readonly client: string }>(party: T): T => {
      return { ...party, client: this.labels.get(party.client) ?? party.client };
    };
    return { holder: holder && labelled(holder), holders: holders.map(labelled), waiters: waiters.map(labelled) };
  }

  /** @internal */
  connect(client: string, connection: Connection): void {
    this.connections.set(client, connection);
    // Kept: what a client left behind when it died is still its own.
    if (connection.label !== undefined) this.labels.set(client, connection.label);
    if (!this.available) this.awaitReturn();
  }

  /** @internal The last one to leave stops every timer. */
  disconnect(client: string): void {
    this.connections.delete(client);
    if (this.connections.size > 0) return;
    this.stopReturn?.();
    for (const stop of this.onTheirWay) stop();
    this.onTheirWay.clear();
  }

  private awaitReturn(): void {
    this.stopReturn?.();
    this.stopReturn = undefined;
    if (this.connections.size === 0) return;
    this.stopReturn = this.clock.timer(Math.max(0, this.outage.until - this.clock.now()), () => {
      // A timer may be early.
      if (!this.available) this.awaitReturn();
      else for (const { recovered } of this.connections.values()) recovered();
    });
  }

  private publish(client: string, grant: GrantMessage): void {
    const { delay, lost } = this.faults.nextHandOff();
    if (lost) return;
    if (delay === 0) {
      void this.deliver(client, (connection) => connection.granted?.(grant));
      return;
    }
    const stop = this.clock.timer(delay, () => {
      this.onTheirWay.delete(stop);
      void this.deliver(client, (connection) => connection.granted?.(grant));
    });
    this.onTheirWay.add(stop);
  }

  private async deliver(client: string, message: (connection: Connection) => void): Promise<void> {
    await nextTurn();
    // Messages are not kept for whoever cannot be reached.
    const connection = this.connections.get(client);
    if (this.available && connection) message(connection);
  }
}
