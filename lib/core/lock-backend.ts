import type { Clock } from './clock.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import type { HolderState, LockState, WaiterState } from './lock-info.js';

/**
 * The port of the engine: a store of locks.
 *
 * For each lock name a backend keeps its holders and a queue of waiting claims of all kinds, in order of arrival. It changes both in atomic
 * steps. It knows nothing of callers, flows, renewal schedules or Nest. It promises for each call:
 * - a call may be repeated: nothing happens twice, and the reply is the same (G6);
 * - times are local: `validUntil` is on `Clock.now()` and not later than the backend's own end of the lease (G2);
 * - a rejected call is a `LockUnavailableError`, with `uncertain` when the call may have been, or may still be, executed.
 */
export interface LockBackend {
  /** The clock of its times. @default the system's monotonic one */
  readonly clock?: Clock;
  /** Longest time in ms to wait for a reply. A request without a reply is not executed later than twice this after it failed. */
  readonly commandTimeout: number;
  /** A waiting claim counts as dead when it has not asked again within twice this time (ms). */
  readonly poll: number;
  /** Milliseconds for which a pushed grant lasts at most, until its holder confirms it by a first `renew`. */
  readonly claimWindow: number;
  /** What it supports and promises. @default everything */
  readonly capabilities?: BackendCapabilities;
  /** Its name in messages, such as host and port. */
  readonly label?: string;
  /** `Clock.now()` at which it began to remember, at the latest; undefined while that is unknown. A quorum may leave out young nodes. */
  readonly upSince?: number | undefined;
  /** The identity of the server, the same under each of its names; undefined while that is unknown. A quorum gives each server one vote. */
  readonly serverId?: string | undefined;

  /**
   * Connects, and calls `events` from now on. Each claim id of this client begins with `clientId:`.
   * Rejects when the first attempt fails, and keeps trying in the background.
   */
  start(clientId: string, events: LockBackendEvents): Promise<void>;
  /**
   * Asks for the lock for one claim: the first time, and again for as long as the claim waits.
   * A claim that got `contended`, or whose first request failed, is over: the caller asks again with a new claim.
   * Settles within `giveUpAt` and one `commandTimeout`. Rejects with a LockConfigurationError when the lock cannot be taken this way at
   * all, and with a LockKindMismatchError while it is held or waited for in a kind that does not go with this one.
   */
  acquire(request: AcquireRequest): Promise<AcquireReply>;
  /** Ends a claim that holds or waits. A freed lock goes to the next waiter in the same step. */
  release(request: ReleaseRequest): Promise<ReleaseReply>;
  /** Extends leases, some hundred at most, in one step. Never rejects: one reply for each hold, in order. */
  renew(holds: readonly RenewRequest[]): Promise<RenewReply[]>;
  /**
   * Returns the holders and waiters of a lock at one moment of the backend.
   * @param waiters how many of them at most
   * @default `RedisLockService.inspect` and `forceRelease` are refused
   */
  inspect?(name: string, waiters: number): Promise<LockSnapshot>;
  /**
   * Takes a lock from these holders (claim and token, from `inspect`), and hands it on in the same step. Returns the claims that held. A
   * repeated call finds none of them, and the next holder keeps the lock. Notifies the clients that lost it where that is possible.
   * @default `RedisLockService.forceRelease` is refused
   */
  revoke?(name: string, holders: readonly HolderRef[]): Promise<readonly string[]>;
  /**
   * Moves a hold from its claim to a new one, with its token and a lease of its own. One of several concurrent callers gets it; a repeated
   * call gets the same reply. Settles within `giveUpAt` and one `commandTimeout`; not executed later than an `acquire`.
   * @default `Lock.export` and `RedisLockService.adopt` are refused
   */
  adopt?(request: AdoptRequest): Promise<AdoptReply>;
  /**
   * The names of the held locks, in batches; a name may come twice. Requests the next batch only when the caller reads on.
   * @param startsWith what the names begin with; '' for all
   * @default `RedisLockService.list` is refused
   */
  list?(startsWith: string): AsyncIterable<readonly string[]>;
  /**
   * Keeps a text of a process for a while, in place of its last one: what operators see of the fleet. Locks never depend on it.
   * @default the activity of this connection's processes is not known
   */
  report?(report: ActivityReport): Promise<void>;
  /** The texts that are kept. @param most how many at most, those of the highest rank */
  reports?(most: number): Promise<ActivityReports>;
  /**
   * The one of several servers that has a name: renewals at one must not wait for another that is silent.
   * @default one server has all names
   */
  nodeOf?(name: string): unknown;
  /**
   * Checks its environment (the server's settings, permissions), once as the application starts. A check that fails is a finding, too:
   * never rejects. It may take any time: the caller waits for one `commandTimeout` at most.
   * @default no checks
   */
  examine?(): Promise<readonly LockFinding[]>;
  /**
   * Its servers, and whether calls can succeed there now. For gauges: sends nothing.
   * @default one server, always available
   */
  availability?(): Iterable<readonly [server: string, isAvailable: boolean]>;
  /** True while a waiter here gets no messages although it should: it finds its grants by polling. @default false */
  readonly isPolling?: boolean;
  /** Ends all connections. Open calls reject. */
  close(): Promise<void>;
}

/** False while no call can succeed at any of its servers. */
export const isReachable = (backend: LockBackend): boolean =>
  [...(backend.availability?.() ?? [['', true] as const])].some(([, isAvailable]) => isAvailable);

export interface BackendCapabilities {
  /** First come, first served over all clients. A pushed grant is provisional, and its claim keeps its place when the grant lapses. */
  readonly fifo: boolean;
  /** Permits: several holders at once, up to a number. */
  readonly permits: boolean;
  /** Views: `inspect`, `revoke`, `list`. */
  readonly views: boolean;
  /** Hand over: `adopt`. */
  readonly handOver: boolean;
  /** Shared locks: any number of readers at once. */
  readonly shared: boolean;
  /** A queue: a release grants the lock to a waiter in the same step. Else a release tells the waiters, and the first that asks has the lock. */
  readonly queue: boolean;
  /** Fencing tokens are made from the backend's time: they rise over a loss of all data, and tell since when a lock is held. */
  readonly dated: boolean;
}

export const allCapabilities: BackendCapabilities = {
  fifo: true,
  permits: true,
  views: true,
  handOver: true,
  shared: true,
  queue: true,
  dated: true,
};

export interface LockBackendEvents {
  /** A release by another claim granted the lock to a waiting claim. May come twice, late, or for a claim that was given up long ago. */
  granted(grant: PushedGrant): void;
  /**
   * Calls can succeed again, perhaps on a server that has lost everything: waiting claims should ask, holders should renew.
   * @param what `messages` when only grants may have been missed (the subscription is new)
   * @param concerns the affected names. @default all
   */
  recovered(what?: 'messages', concerns?: (name: string) => boolean): void;
  /**
   * A lease that keeps this waiting claim out ends at `at` (`Clock.now()`), earlier than the last reply said: the claim should ask then. A
   * hint.
   */
  freeAt?(claim: ClaimRef, at: number): void;
  /** This claim may have lost its lock: its holder should renew. A hint: late and false ones do no harm. */
  revoked?(claim: ClaimRef): void;
}

/** A claim is one request for a lock name. Its id is never used again. */
export interface ClaimRef {
  readonly name: string;
  readonly id: string;
}

export interface ReleaseRequest extends ClaimRef {
  /**
   * `Clock.now()` until which no other claim gets the lock although the work is over (`minHold`). The backend enforces it alone: the client
   * may end. 0 or missing: the lock is free at once.
   */
  readonly keepUntil?: number;
}

/**
 * How many can hold a lock at once. `exclusive`: one. `shared`: any number, while there is no exclusive holder. `permits`: as many as there
 * are permits; such a name cannot be held in the other ways at the same time.
 */
export type LockKind = 'exclusive' | 'shared' | 'permits';

/** What a claim wants of a lock. */
export interface LockDemand {
  readonly kind: LockKind;
  /** How many permits the claim takes; 1 for the other kinds. */
  readonly permits: number;
  /** How many permits there are; 0 for the other kinds. The limit of the claim that last began to ask applies to all. */
  readonly limit: number;
}

/** What most claims want: an exclusive lock. */
export const exclusive: LockDemand = { kind: 'exclusive', permits: 1, limit: 0 };

export interface AcquireRequest extends ClaimRef, LockDemand {
  /** Milliseconds. */
  readonly lease: number;
  /**
   * How many fencing tokens to reserve behind the granted one, for local hand-offs. There may be fewer: none is ahead of the server's
   * clock.
   */
  readonly reserve: number;
  /** True: join the queue when the lock is not free. */
  readonly enqueue: boolean;
  /** True when an earlier reply queued this claim. */
  readonly again: boolean;
  /** `Clock.now()` until which the call may try again inside when the server replies that it is busy. */
  readonly giveUpAt: number;
  /** Checked before each sending: a claim that was given up must never be sent again. */
  isWanted(): boolean;
}

export type AcquireReply =
  | ({ readonly status: 'granted'; readonly fencingToken: number; readonly validUntil: number } & Outlook)
  | {
      readonly status: 'contended';
      /** Rest of the holder's lease in ms. */
      readonly leaseLeft: number;
      readonly holder?: PresentHolder | undefined;
    }
  | {
      readonly status: 'queued';
      /** When to ask again, at the latest: `Clock.now()`. */
      readonly askAt: number;
      /** True when the next release is left to waiters of another program. */
      readonly yields?: boolean;
      readonly holder?: PresentHolder | undefined;
    };

/** The holder that keeps a claim out, the earliest of several. Undefined: not known, or none (a claim ahead in the queue is next). */
export type PresentHolder = Pick<HolderSnapshot, 'id' | 'fencingToken' | 'heldFor'> & {
  /** Rest of its lease in ms. @default not told */
  readonly leaseLeft?: number;
};

/** What a process tells of its locks. */
export interface ActivityReport {
  /** Names the process. A later report of the same process takes the place of this one. */
  readonly process: string;
  readonly text: string;
  /** Orders the reports of many processes. A whole number. */
  readonly rank: number;
  /** Milliseconds after which it vanishes. 0: now. */
  readonly lasts: number;
}

export interface ActivityReports {
  /** How many there are. */
  readonly total: number;
  readonly reports: ReadonlyArray<
    Pick<ActivityReport, 'process' | 'text'> & { /** ms since it came */ readonly age: number }
  >;
}

/** What a holder can rely on. */
export interface Outlook {
  /** This client may give out further tokens of this lock up to this one: each later grant gets a larger one. */
  readonly tokensUntil: number;
  /** True when other clients wait for the lock. */
  readonly othersWait: boolean;
  /** How many releases this client leaves to them after its turn, where there is no queue. */
  readonly owed?: number;
}

export type ReleaseReply = 'released' | 'cancelled' | 'absent';

export interface PushedGrant extends ClaimRef {
  readonly fencingToken: number;
  readonly tokensUntil: number;
  /** When the provisional grant ends; undefined when its age has no known bound: then `renew` must confirm it first. */
  readonly validUntil: number | undefined;
}

export interface RenewRequest extends ClaimRef {
  readonly fencingToken: number;
  readonly lease: number;
  /** As in `acquire`, counted from `fencingToken`. Without it, and without `least`, the outlook in the reply has no meaning. */
  readonly reserve: number;
  /** Each later grant gets a larger token than this one, even if the server's clock is behind it. @default 0 */
  readonly least?: number;
}

/** `lost` when the claim does not hold (with this token); `unanswered` when the outcome is unknown. */
export type RenewReply = ({ readonly validUntil: number } & Outlook) | 'lost' | 'unanswered';

/** `name` and `id`: the claim that is to hold. */
export interface AdoptRequest extends ClaimRef {
  /** The claim that holds now, and its token (or a later one of its block). */
  readonly from: string;
  readonly fencingToken: number;
  /** Milliseconds from now, even if the present lease is longer. */
  readonly lease: number;
  /** As in `acquire`. */
  readonly giveUpAt: number;
}

/** `gone`: the hold is over. `taken`: another claim has adopted it. */
export type AdoptReply = { readonly validUntil: number } | 'gone' | 'taken';

/** A claim that holds, and its token in the backend. Without a token: a holder of another program that shares the locks. */
export interface HolderRef {
  readonly id: string;
  readonly fencingToken: number | undefined;
}

/** `LockInfo` as a backend has it: claims in place of processes. */
export type LockSnapshot = LockState<HolderSnapshot, WaiterSnapshot>;

export interface HolderSnapshot extends HolderRef, HolderState {
  /** Milliseconds since the grant, where the backend knows it. */
  readonly heldFor: number | undefined;
}

export interface WaiterSnapshot extends WaiterState {
  readonly id: string;
}
