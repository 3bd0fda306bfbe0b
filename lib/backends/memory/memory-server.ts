import { partyOf } from '../../core/claim-id.js';
import { type Clock, systemClock } from '../../core/clock.js';
import type { ClaimRef } from '../../core/lock-backend.js';
import { type LockInfo, lockInfoOf } from '../../core/lock-info.js';
import { ActivityTable } from './activity-table.js';
import { LockTable, clientOf } from './lock-table.js';
import { MemoryFaults } from './memory-faults.js';
import type { TableGrant } from './table-messages.js';
import { nextTurn } from './turns.js';

export interface MemoryLockServerOptions {
  /**
   * The time of the server and of its clients.
   * @default the system's monotonic clock
   */
  clock?: Clock;
}

/** A client that is connected. */
export interface Connection {
  /** Its name in `inspect`; undefined: the beginning of its id. */
  readonly label: string | undefined;
  /** Undefined when it does not listen for messages. */
  readonly granted: ((grant: TableGrant) => void) | undefined;
  /** Undefined as above. */
  readonly revoked: ((claim: ClaimRef) => void) | undefined;
  /** Undefined as above. */
  readonly freeAfter: ((claim: ClaimRef, rest: number) => void) | undefined;
  /** The server can be reached again. */
  readonly recovered: () => void;
}

/** A store of locks in the memory of this process, in place of one Redis server. */
export class MemoryLockServer {
  readonly clock: Clock;
  /** Faults, on demand. */
  readonly faults: MemoryFaults;
  /** @internal */
  readonly table: LockTable;
  /** @internal */
  readonly activity: ActivityTable;

  /** By the ids of the clients. Private fields: an id is a secret of its client. */
  readonly #connections = new Map<string, Connection>();
  readonly #labels = new Map<string, string>();
  private readonly onTheirWay = new Set<() => void>();
  private outage = { from: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
  private stopReturn: (() => void) | undefined;

  constructor({ clock = systemClock }: MemoryLockServerOptions = {}) {
    this.clock = clock;
    this.activity = new ActivityTable(clock);
    // As large as real ones: code that stores a token must have room for it.
    let since1970 = performance.timeOrigin;
    this.table = new LockTable(() => since1970 + clock.now(), {
      hears: (client) => this.#connections.get(client)?.granted !== undefined,
      publish: (client, grant) => {
        this.publish(client, { ...grant, grantedAt: grant.grantedAt - since1970 });
      },
      revoked: (client, claim) => void this.deliver(client, (connection) => connection.revoked?.(claim)),
      freeAfter: (client, claim, rest) =>
        void this.deliver(client, (connection) => connection.freeAfter?.(claim, rest)),
    });
    this.faults = new MemoryFaults({
      lose: (name) => this.table.lose(name),
      setForward: (ms) => {
        since1970 += ms;
      },
      goAway: (ms) => {
        const now = clock.now();
        this.outage = { from: this.available ? now : this.outage.from, until: now + ms };
        this.awaitReturn();
      },
    });
  }

  /** True while it can be reached. */
  get available(): boolean {
    return this.clock.now() >= this.outage.until;
  }

  /** @internal The present or last outage. */
  get away(): { readonly from: number; readonly until: number } {
    return this.outage;
  }

  /** The holders and waiters of the lock of this name: what `RedisLockService.inspect` returns, with clients by their labels. */
  inspect(name: string): LockInfo {
    return lockInfoOf(name, this.table.snapshot(name, Number.POSITIVE_INFINITY), (claim) => {
      const origin = partyOf(claim);
      return { ...origin, client: this.#labels.get(clientOf(claim)) ?? origin.client };
    });
  }

  /** @internal */
  connect(client: string, connection: Connection): void {
    this.#connections.set(client, connection);
    // Kept: records that a client left behind when it died still belong to it.
    if (connection.label !== undefined) this.#labels.set(client, connection.label);
    if (!this.available) this.awaitReturn();
  }

  /** @internal The last one to leave stops all timers. */
  disconnect(client: string): void {
    this.#connections.delete(client);
    if (this.#connections.size > 0) return;
    this.stopReturn?.();
    for (const stop of this.onTheirWay) stop();
    this.onTheirWay.clear();
  }

  private awaitReturn(): void {
    this.stopReturn?.();
    this.stopReturn = undefined;
    if (this.#connections.size === 0) return;
    this.stopReturn = this.clock.timer(Math.max(0, this.outage.until - this.clock.now()), () => {
      // A timer may be early.
      if (!this.available) this.awaitReturn();
      else for (const { recovered } of this.#connections.values()) recovered();
    });
  }

  private publish(client: string, grant: TableGrant): void {
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
    // Messages are not kept for clients that cannot be reached.
    const connection = this.#connections.get(client);
    if (this.available && connection) message(connection);
  }
}
