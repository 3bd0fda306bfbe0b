import type { LockHolder, LockParty } from '../errors/lock-errors.js';
import { partyOf } from './claim-id.js';
import type { HolderSnapshot, LockKind, LockSnapshot } from './lock-backend.js';

/** The holders and waiters of a lock at one moment of the backend. Times are in ms, on its clock. */
export interface LockState<Holder, Waiter> {
  /** How it is held: exclusive, shared by readers, or as permits. Undefined when it is free. */
  readonly kind: LockKind | undefined;
  /** For permits: how many there are. Undefined for other kinds. */
  readonly limit: number | undefined;
  /**
   * In the order of their fencing tokens; empty when the lock is free. Of a holder with another version of this library only the lease is
   * known; of one that locks with Redisson (option `redisson`) its lease, and `client`, which is its field in Redis.
   */
  readonly holders: readonly Holder[];
  /** In order of arrival; at most 1,000. The callers of one process may appear as one waiter. */
  readonly waiters: readonly Waiter[];
}

export interface HolderState {
  /**
   * The lock is free after this, unless the lease is renewed. `Infinity` (`null` in JSON) when its key in Redis never expires: another
   * program has written it, and it stays until it is deleted (`forceRelease`).
   */
  readonly leaseLeft: number;
  /**
   * `held`; `provisional`: the holder got the lock a moment ago and has not confirmed it yet; `kept`: its work is over, and `minHold` keeps
   * the lock from others.
   */
  readonly state: 'held' | 'provisional' | 'kept';
  /** How many permits it has; 1 for other kinds. */
  readonly permits: number;
}

export interface WaiterState {
  /** Since it joined the backend's queue. */
  readonly waited: number;
  readonly kind: LockKind;
  /** How many permits it wants; 1 for other kinds. */
  readonly permits: number;
  /**
   * False: the lock was granted to it, and its process was not reached (stopped, dead, or disconnected). It is passed over until it asks
   * again; a dead one vanishes after 10 s and a `commandTimeout`.
   */
  readonly reachable: boolean;
}

export type LockHolderInfo = LockHolder & HolderState;

export interface LockWaiterInfo extends LockParty, WaiterState {}

/** What `RedisLockService.inspect` returns. */
export interface LockInfo extends LockState<LockHolderInfo, LockWaiterInfo> {
  readonly key: string;
}

/** Options of `RedisLockService.list`. */
export interface LockListOptions {
  /**
   * The beginning of the names, such as `product:`.
   * @default '' every name under the prefix
   */
  startsWith?: string | undefined;
}

/** Options of `RedisLockService.forceRelease`. */
export interface ForceReleaseOptions {
  /**
   * The token of one holder, as `inspect` shows it: only this holder loses the lock, and other readers and permits keep theirs. Callers of
   * one process that pass the lock on inside count as one holder.
   * @default all present holders lose the lock
   */
  fencingToken?: number | undefined;
  /** The `client` of the holders that lose the lock, as `inspect` shows it: for a holder without a token. */
  client?: string | undefined;
  /** Why, for the log and the channel: 1 to 200 characters. */
  reason?: string | undefined;
  /** The person who does it, for the log and the channel: 1 to 200 characters. */
  actor?: string | undefined;
}

/** A snapshot with the processes of its claims, in whole milliseconds. */
export function lockInfoOf(
  key: string,
  { kind, limit, holders, waiters }: LockSnapshot,
  named: (claim: string) => LockParty = partyOf,
): LockInfo {
  return {
    key,
    kind,
    limit,
    holders: holders.map(({ leaseLeft, state, permits, ...holder }) => ({
      ...holderOf(holder, named),
      ...{ leaseLeft: Math.max(0, Math.floor(leaseLeft)), state, permits },
    })),
    waiters: waiters.map(({ id, ...state }) => ({ ...named(id), ...state, waited: Math.floor(state.waited) })),
  };
}

/**
 * A holder as the backend knows it, in whole milliseconds. Without a token it is of another program that shares the locks: then it has its whole
 * field, which operators of that program know.
 */
export function holderOf(
  { id, fencingToken, heldFor }: Pick<HolderSnapshot, 'id' | 'fencingToken' | 'heldFor'>,
  named: (claim: string) => LockParty = partyOf,
): LockHolder {
  if (fencingToken !== undefined)
    return { ...named(id), fencingToken, heldFor: heldFor === undefined ? undefined : Math.floor(heldFor) };
  const client = id.replaceAll(/[^\w.$:-]/g, '_').slice(0, 100);
  const unknown = { host: undefined, pid: undefined, method: undefined, label: undefined };
  return { client, ...unknown, foreign: true, fencingToken: undefined, heldFor: undefined };
}
