import type { ClaimRef, LockDemand, LockKind, Outlook } from '../../core/lock-backend.js';

/** What is said between a client and the table of locks. Times are milliseconds; every claim id is `clientId:n`. */
export interface Question extends LockDemand {
  readonly name: string;
  readonly claim: string;
  readonly lease: number;
  /** Tokens to reserve behind the granted one. */
  readonly reserve: number;
  /** After this a waiter that did not ask again counts as dead; 0: do not stand in the queue. */
  readonly patience: number;
}

/** `rest`: until a lease ends that keeps the claim out. */
export type Answer =
  | ({ readonly status: 'granted'; readonly fencingToken: number; readonly rest: number } & Outlook)
  | { readonly status: 'contended'; readonly rest: number }
  | {
      readonly status: 'queued';
      readonly rest: number;
      /** False: nobody listens for the claim. */ readonly heard: boolean;
    }
  | { readonly status: 'mismatch'; readonly held: LockKind };

export type Renewed = { readonly rest: number } & Outlook;

/** Sent to a waiter that was granted the lock by somebody else's step. */
export interface GrantMessage {
  readonly name: string;
  readonly claim: string;
  readonly fencingToken: number;
  readonly tokensUntil: number;
  /** On the table's clock. */
  readonly grantedAt: number;
  readonly length: number;
}

/** Who listens for the grants of a client, and how they are told. */
export interface Audience {
  hears(client: string): boolean;
  publish(client: string, grant: GrantMessage): void;
  /** The claim was deprived of its lock: its client should make sure. */
  revoked(client: string, claim: ClaimRef): void;
}

/**
 * What was known of a waiter when it was last looked at. `heard`: its client listened; `asked`: it asked though its client did not
 * listen; `deaf`: not reached since it asked.
 */
export type Standing = 'heard' | 'asked' | 'deaf';

/** Who holds a lock, or a part of it. */
export interface HolderView {
  readonly client: string;
  readonly fencingToken: number;
  readonly leaseLeft: number;
  /** False for a grant that was handed over, and of which its holder has not been heard yet. */
  readonly confirmed: boolean;
  readonly kind: LockKind;
  /** How many permits; 1 for the other kinds. */
  readonly permits: number;
}

/** A lock as it stands at the server. */
export interface LockView {
  /** The first of `holders`: of an exclusive lock there is no other. */
  readonly holder: HolderView | undefined;
  /** In the order in which they got it. */
  readonly holders: readonly HolderView[];
  /** In order of arrival. The callers of one process stand here as one, except for shared locks and permits. */
  readonly waiters: ReadonlyArray<{ readonly client: string; readonly standing: Standing }>;
}
