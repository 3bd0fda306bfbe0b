import type { LockKind } from './lock-backend.js';

/** Who holds a lock, and who waits for it: one moment at Redis. Times are in ms, on the clock of Redis. */
export interface LockInfo {
  readonly key: string;
  /** How it is held: exclusive, shared by readers, or as permits. Undefined when nobody holds it. */
  readonly kind: LockKind | undefined;
  /** Of permits: how many there are. Undefined for other kinds. */
  readonly limit: number | undefined;
  /** Empty when nobody holds it. Of a holder with another version of this library nothing is known but its lease. */
  readonly holders: readonly LockHolderInfo[];
  /** In the order in which they will be served; the first 1,000. The callers of one process may stand here as one. */
  readonly waiters: readonly LockWaiterInfo[];
}

/** A process, as a holder or waiter. */
export interface LockPartyInfo {
  /** Tells the connections of one process, and processes of one host and pid, apart. Part of a random id, and no key to its locks. */
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  /**
   * Class and method; undefined for a call of the service. Of another process that passes the lock on inside: the one that it was asked for by
   * first.
   */
  readonly method: string | undefined;
}

export interface LockHolderInfo extends LockPartyInfo {
  readonly fencingToken: number;
  /** Since the grant; of another process that passes the lock on inside: since the process has it. */
  readonly heldFor: number;
  /** After this it is free, unless it is renewed. */
  readonly leaseLeft: number;
  /**
   * `held`; `provisional`: it was handed the lock a moment ago, and nothing has been heard of it yet; `kept`: its work is over, and `minHold`
   * keeps the lock from others.
   */
  readonly state: 'held' | 'provisional' | 'kept';
  /** How many permits it has; 1 for other kinds. */
  readonly permits: number;
}

export interface LockWaiterInfo extends LockPartyInfo {
  /** Since it stands in the queue of Redis. */
  readonly waited: number;
  readonly kind: LockKind;
  /** How many permits it wants; 1 for other kinds. */
  readonly permits: number;
}

/** What `RedisLockService.list` takes. */
export interface LockListOptions {
  /**
   * What the names begin with, such as `product:`.
   * @default '' every name under the prefix
   */
  startsWith?: string;
}
