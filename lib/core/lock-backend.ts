import type { Clock } from './clock.js';
import type { LockFinding } from './lock-finding.js';

/**
 * The one port of the engine: a place where locks live.
 *
 * A backend keeps, for each lock name, who holds it and a queue of waiting claims in order of arrival, whatever their kinds, and changes
 * both in atomic steps. It knows nothing of callers, flows, renewal schedules or Nest. What it promises for every call:
 * - a call may be repeated: nothing happens twice, the answer is the same (G6);
 * - times are local: `validUntil` is on `Clock.now()` and not later than the backend's own end of the lease (G2);
 * - a rejected call is a `LockUnavailableError`, with `uncertain` where the call may have been, or may still be, executed.
 */
export interface LockBackend {
  /** The clock that its times are on. @default the system's monotonic one */
  readonly clock?: Clock;
  /**
   * Longest time in ms for an answer. A question that went unanswered is not executed later than twice this after it failed.
   */
  readonly commandTimeout: number;
  /** A waiting claim that has not asked again for twice this time (ms) counts as dead. */
  readonly poll: number;
  /** Largest number of milliseconds that a pushed grant lasts before its holder confirmed it by a first `renew`. */
  readonly claimWindow: number;
  /** What it can do and promises. @default everything */
  readonly capabilities?: BackendCapabilities;
  /** What messages call it, such as host and port. */
  readonly label?: string;
  /** `Clock.now()` at which it began to remember, at the latest; undefined while that is not known. A quorum may keep young nodes out. */
  readonly upSince?: number | undefined;

  /**
   * Connects, and calls `events` from now on. Every claim id of this client will be `clientId:n`.
   * Rejects when the first attempt fails, and goes on trying by itself.
   */
  start(clientId: string, events: LockBackendEvents): Promise<void>;
  /**
   * Asks for the lock for one claim: the first time, and again for as long as the claim waits.
   * A claim that was told `contended`, or whose first question failed, has had its turn: whoever goes on asks with another one.
   * Settles within `giveUpAt` and one `commandTimeout`; a LockConfigurationError when the lock cannot be had this way at all, a
   * LockKindMismatchError while it is held or waited for in a kind that does not go with this one.
   */
  acquire(request: AcquireRequest): Promise<AcquireReply>;
  /** Gives a claim up, whether it holds or waits; a freed lock goes to the next waiter in the same step. */
  release(request: ReleaseRequest): Promise<ReleaseReply>;
  /** Lengthens some hundred leases at most, in one step. Never rejects: one answer for each hold, in order. */
  renew(holds: readonly RenewRequest[]): Promise<RenewReply[]>;
  /**
   * Tells who holds a lock and who waits for it, as one moment of the backend.
   * @param waiters how many of them at most
   * @default `RedisLockService.inspect` and `forceRelease` are refused
   */
  inspect?(name: string, waiters: number): Promise<LockSnapshot>;
  /**
   * Takes a lock from these holders (claim and token, from `inspect`), and hands it on in the same step. Answers which of them held:
   * asked again it finds none, and whoever came after keeps the lock. Tells the clients of those who lost it where that is possible.
   * @default `RedisLockService.forceRelease` is refused
   */
  revoke?(name: string, holders: readonly HolderRef[]): Promise<readonly string[]>;
  /**
   * Moves a hold from the claim that has it to a new one, with its token and a lease of its own: of several that try, one has it. Asked again
   * by that one, the answer is the same. Settles within `giveUpAt` and one `commandTimeout`; not executed later than an `acquire`.
   * @default `Lock.export` and `RedisLockService.adopt` are refused
   */
  adopt?(request: AdoptRequest): Promise<AdoptReply>;
  /**
   * The names of the locks that are held, in batches; a name may come twice. Asks for the next batch only when it is wanted.
   * @param startsWith what the names begin with; '' for all
   * @default `RedisLockService.list` is refused
   */
  list?(startsWith: string): AsyncIterable<readonly string[]>;
  /**
   * Which of several servers is asked about a name: renewals of one must not wait for another that is silent.
   * @default all names are on one
   */
  nodeOf?(name: string): unknown;
  /**
   * Looks at what it was given (the server's settings, permissions), once as the application starts. What cannot be looked at is a
   * finding, too: never rejects. It need not bound its time: whoever asks waits for one `commandTimeout` at most.
   * @default nothing is looked at
   */
  examine?(): Promise<readonly LockFinding[]>;
  /** Ends every connection. Calls still under way reject. */
  close(): Promise<void>;
}

export interface BackendCapabilities {
  /** First come, first served over all clients; a grant that was pushed is provisional, and its claim keeps its place when it lapses. */
  readonly fifo: boolean;
  /** Permits: several holders at once, up to a number. */
  readonly permits: boolean;
  /** Views: `inspect`, `revoke`, `list`. */
  readonly views: boolean;
  /** Hand over: `adopt`. */
  readonly handOver: boolean;
}

export const allCapabilities: BackendCapabilities = { fifo: true, permits: true, views: true, handOver: true };

export interface LockBackendEvents {
  /** A waiting claim was granted the lock by somebody's release. May come twice, late, or for a claim long given up. */
  granted(grant: PushedGrant): void;
  /**
   * Calls can succeed again, perhaps on a server that has lost everything: who waits should ask, who holds should make sure.
   * @param what `messages` when only grants may have been missed (the subscription was made anew)
   * @param concerns the names for which this is so. @default all
   */
  recovered(what?: 'messages', concerns?: (name: string) => boolean): void;
  /** This claim may have been deprived of its lock: whoever holds it should make sure. A hint: late and false ones do no harm. */
  revoked?(claim: ClaimRef): void;
}

/** A claim is one request for a lock name; its id is never used again. */
export interface ClaimRef {
  readonly name: string;
  readonly claim: string;
}

export interface ReleaseRequest extends ClaimRef {
  /**
   * `Clock.now()` until which nobody else shall get the lock although its work is over (`minHold`). The backend sees to it alone: the
   * client may end. 0 or missing: the lock is free at once.
   */
  readonly keepUntil?: number;
}

/**
 * How many can hold a lock at once. `exclusive`: one. `shared`: any number, while nobody holds it exclusively. `permits`: as many as
 * there are permits; such a name cannot be held in the other ways at the same time.
 */
export type LockKind = 'exclusive' | 'shared' | 'permits';

/** What a claim wants of a lock. */
export interface LockDemand {
  readonly kind: LockKind;
  /** How many permits at once; 1 for the other kinds. */
  readonly permits: number;
  /** How many permits there are; 0 for the other kinds. That of the latest claim that began to ask counts for all. */
  readonly limit: number;
}

/** What most claims want: the lock for themselves. */
export const exclusive: LockDemand = { kind: 'exclusive', permits: 1, limit: 0 };

export interface AcquireRequest extends ClaimRef, LockDemand {
  /** Milliseconds. */
  readonly lease: number;
  /** How many fencing tokens behind the granted one are wanted for local hand-offs. */
  readonly reserve: number;
  /** Whether to stand in the queue when the lock is not free. */
  readonly enqueue: boolean;
  /** Whether this claim was queued by an earlier answer: nobody has called it since. */
  readonly again: boolean;
  /** `Clock.now()` until which an answer like 'busy, try later' is worth another try inside this call. */
  readonly giveUpAt: number;
  /** Asked before every (re-)sending: a claim that was given up must never be asked for again. */
  isWanted(): boolean;
}

export type AcquireReply =
  | ({ readonly status: 'granted'; readonly fencingToken: number; readonly validUntil: number } & Outlook)
  | { readonly status: 'contended'; /** Rest of the holder's lease in ms. */ readonly rest: number }
  | { readonly status: 'queued'; /** When to ask again, at the latest: `Clock.now()`. */ readonly askAt: number };

/** What a holder may do next. */
export interface Outlook {
  /** This client may give out further tokens of this lock up to here: every later grant gets a larger one. */
  readonly tokensUntil: number;
  /** Whether other clients wait for the lock. */
  readonly othersWait: boolean;
}

export type ReleaseReply = 'released' | 'cancelled' | 'absent';

export interface PushedGrant extends ClaimRef {
  readonly fencingToken: number;
  readonly tokensUntil: number;
  /** When the provisional grant ends; undefined when its age cannot be bounded: then `renew` must confirm it first. */
  readonly validUntil: number | undefined;
}

export interface RenewRequest extends ClaimRef {
  readonly fencingToken: number;
  readonly lease: number;
  /** As in `acquire`, behind `fencingToken`; without it the outlook in the answer says nothing. */
  readonly reserve: number;
}

/** `lost` when the claim does not hold (with this token); `unanswered` when nothing is known. */
export type RenewReply = ({ readonly validUntil: number } & Outlook) | 'lost' | 'unanswered';

/** `name` and `claim`: who shall hold. */
export interface AdoptRequest extends ClaimRef {
  /** The claim that holds, and its token (or a later one of its block). */
  readonly from: string;
  readonly fencingToken: number;
  /** Milliseconds from now: also where the present lease is longer. */
  readonly lease: number;
  /** As in `acquire`. */
  readonly giveUpAt: number;
}

/** `gone`: that hold is over. `taken`: it goes on, with another claim that has adopted it. */
export type AdoptReply = { readonly validUntil: number } | 'gone' | 'taken';

/** A claim that holds, and the token that the backend knows it by. */
export interface HolderRef {
  readonly claim: string;
  readonly fencingToken: number;
}

/** A lock as it stands at the backend. Times are in ms. */
export interface LockSnapshot {
  /** Undefined when nobody holds it. */
  readonly kind: LockKind | undefined;
  /** Of permits; else undefined. */
  readonly limit: number | undefined;
  readonly holders: readonly HolderSnapshot[];
  /** Those who are alive, in the order in which they will be served. */
  readonly waiters: readonly WaiterSnapshot[];
}

export interface HolderSnapshot extends HolderRef {
  readonly heldFor: number;
  readonly leaseLeft: number;
  /** `provisional`: it was handed the lock, and nobody has heard of it yet. `kept`: it has left, and `minHold` is not over. */
  readonly state: 'full' | 'provisional' | 'kept';
  readonly permits: number;
}

export interface WaiterSnapshot {
  readonly claim: string;
  readonly waited: number;
  readonly kind: LockKind;
  readonly permits: number;
}
