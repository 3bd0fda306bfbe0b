import type { ClaimRef, LockDemand, LockKind, Outlook, PresentHolder } from '../../core/lock-backend.js';

/** Messages between a client and the table of locks. Times are milliseconds; each claim id begins with `clientId:`. */
export interface Question extends LockDemand {
  readonly name: string;
  readonly id: string;
  readonly lease: number;
  /** Tokens to reserve behind the granted one. */
  readonly reserve: number;
  /** After this a waiter that did not ask again counts as dead; 0: do not join the queue. */
  readonly patience: number;
}

/** `rest`: until a lease ends that keeps the claim out. */
export type Answer =
  | ({ readonly status: 'granted'; readonly fencingToken: number; readonly rest: number } & Outlook)
  | { readonly status: 'contended'; readonly leaseLeft: number; readonly holder: PresentHolder | undefined }
  | {
      readonly status: 'queued';
      /** Until it should ask again. */
      readonly rest: number;
      /** True when its client listens for messages. */
      readonly listening: boolean;
      readonly holder: PresentHolder | undefined;
    }
  | { readonly status: 'mismatch'; readonly held: LockKind };

export type Renewed = { readonly rest: number } & Outlook;

/** Sent to a waiter that got the lock by a step of another claim. */
export interface TableGrant {
  readonly name: string;
  readonly id: string;
  readonly fencingToken: number;
  readonly tokensUntil: number;
  /** On the table's clock. */
  readonly grantedAt: number;
  readonly length: number;
}

/** The clients that listen for grants, and how to reach them. */
export interface Audience {
  hears(client: string): boolean;
  publish(client: string, grant: TableGrant): void;
  /** The claim has lost its lock: its client should renew. */
  revoked(client: string, claim: ClaimRef): void;
  /** A lease ends after so many ms, earlier than this waiting claim knows. */
  freeAfter(client: string, claim: ClaimRef, rest: number): void;
}

/**
 * How a waiter can be reached. `listening`: its client listened for messages when it asked; `polling`: it did not, so the waiter learns of
 * a grant when it asks next; `unreachable`: the lock was granted to it, and it was not reached. It is passed over until it asks again.
 */
export type Standing = 'listening' | 'polling' | 'unreachable';
