/** Stable codes: match on these, never on messages. */
export type LockErrorCode =
  | 'LOCK_CONFIGURATION'
  | 'LOCK_CONTENDED'
  | 'LOCK_WAIT_TIMEOUT'
  | 'LOCK_QUEUE_FULL'
  | 'LOCK_KIND_MISMATCH'
  | 'LOCK_UPGRADE'
  | 'LOCK_LOST'
  | 'LOCK_UNAVAILABLE';

interface LockErrorOptions {
  key?: string | undefined;
  cause?: unknown;
}

/** What every error of this library is. `code` is stable, `key` is the lock name where there is one. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** Written out in every class: a minifier renames classes, and logs would show `a: …`. */
  abstract override readonly name: string;
  /** The lock name the error is about. */
  readonly key: string | undefined;

  constructor(message: string, options: LockErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.key = options.key;
  }

  /** What GraphQL servers send beside the message of whatever a resolver throws, also where no filter of Nest is asked. */
  get extensions(): { readonly code: LockErrorCode } {
    return { code: this.code };
  }
}

/** Something was written wrongly: a template, an option, a key. Refused at once, nothing was sent to Redis. */
export class LockConfigurationError extends LockError {
  override readonly name: string = 'LockConfigurationError';
  readonly code = 'LOCK_CONFIGURATION';
}

/** Redis answered, and the lock was not to be had within `wait`. HTTP: 409. */
export class LockNotAcquiredError extends LockError {
  override readonly name: string = 'LockNotAcquiredError';
  readonly code: 'LOCK_CONTENDED' | 'LOCK_WAIT_TIMEOUT' | 'LOCK_QUEUE_FULL' = 'LOCK_CONTENDED';
  /** Milliseconds after which another attempt may succeed: the rest of the present holder's lease, where it is known. */
  readonly retryAfter: number | undefined;

  constructor(message: string, options: LockErrorOptions & { retryAfter?: number | undefined } = {}) {
    super(message, options);
    this.retryAfter = options.retryAfter;
  }
}

/** The caller stood in the queue for the whole of `wait`. HTTP: 409. */
export class LockWaitTimeoutError extends LockNotAcquiredError {
  override readonly name: string = 'LockWaitTimeoutError';
  override readonly code = 'LOCK_WAIT_TIMEOUT';
}

/** `maxWaiters` callers of this process wait already: load is shed instead of piled up. HTTP: 503. */
export class LockQueueFullError extends LockNotAcquiredError {
  override readonly name: string = 'LockQueueFullError';
  override readonly code = 'LOCK_QUEUE_FULL';
}

/**
 * One name is used with permits and without at once: who holds it or waits for it asked for the other. A name belongs to one of the
 * two. HTTP: 500.
 */
export class LockKindMismatchError extends LockError {
  override readonly name: string = 'LockKindMismatchError';
  readonly code = 'LOCK_KIND_MISMATCH';
}

/**
 * A flow that holds a shared lock asked for the exclusive one inside, or one that holds permits for more of them: it would wait for
 * itself, and two of them for each other. Refused at once, nothing was sent to Redis. HTTP: 500.
 */
export class LockUpgradeError extends LockError {
  override readonly name: string = 'LockUpgradeError';
  readonly code = 'LOCK_UPGRADE';
}

/**
 * Why a lock was lost:
 * `expired` – its lease ran out before it was released or renewed;
 * `revoked` – Redis no longer knew the holder (flushed, evicted, deleted, restarted without its data, lost in a failover, or released by force);
 * `max-hold` – the hold reached `maxHold`;
 * `shutdown` – the application ended before the work did;
 * `released` – it was asked for something after its own `release()`;
 * `exported` – it was asked for something after its own `export()`;
 * `adopted` – it cannot be adopted with this ticket, because somebody else has done so and works.
 */
export type LockLostReason = 'expired' | 'revoked' | 'max-hold' | 'shutdown' | 'released' | 'exported' | 'adopted';

/** The lock went while its holder still worked. Others may hold it by now. HTTP: 500. */
export class LockLostError extends LockError {
  override readonly name: string = 'LockLostError';
  readonly code = 'LOCK_LOST';
  readonly reason: LockLostReason;

  constructor(message: string, options: LockErrorOptions & { reason: LockLostReason }) {
    super(message, options);
    this.reason = options.reason;
  }
}

/** Redis could not be asked, or did not answer in time. Says nothing about whether the lock is free. HTTP: 503. */
export class LockUnavailableError extends LockError {
  override readonly name: string = 'LockUnavailableError';
  readonly code = 'LOCK_UNAVAILABLE';
  /**
   * True when the command may have been executed although its answer is missing.
   * The library takes back by itself whatever such a command did.
   */
  readonly uncertain: boolean;

  constructor(message: string, options: LockErrorOptions & { uncertain?: boolean } = {}) {
    super(message, options);
    this.uncertain = options.uncertain ?? false;
  }
}

/** What one node of a quorum said to a request. */
export interface NodeVote {
  /** Its host and port. */
  readonly node: string;
  /**
   * `granted`: it gave its vote; `contended`: somebody else has it; `unreachable`: it could not be asked, or did not answer in time;
   * `connected`: it was reached, as the application started or as somebody looked at locks.
   */
  readonly answer: 'granted' | 'contended' | 'unreachable' | 'connected';
  /** Why it is unreachable. */
  readonly error?: string | undefined;
}

/** Too few nodes of a quorum could be asked. Never thrown because somebody else holds the lock. HTTP: 503. */
export class QuorumNotReachedError extends LockUnavailableError {
  override readonly name: string = 'QuorumNotReachedError';
  /** One entry for each node, in the order of the option `quorum.nodes`. */
  readonly votes: readonly NodeVote[];

  constructor(message: string, options: LockErrorOptions & { uncertain?: boolean; votes: readonly NodeVote[] }) {
    super(message, options);
    this.votes = options.votes;
  }
}
