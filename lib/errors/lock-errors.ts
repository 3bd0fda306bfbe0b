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

/** By code; a code that is missing here is an internal error. */
const httpStatus: Partial<Record<LockErrorCode, 409 | 503>> = {
  LOCK_CONTENDED: 409,
  LOCK_WAIT_TIMEOUT: 409,
  LOCK_QUEUE_FULL: 503,
  LOCK_UNAVAILABLE: 503,
};

/** What the constructor of a lock error takes. */
export interface LockErrorOptions {
  key?: string | undefined;
  cause?: unknown;
}

/**
 * Lets `instanceof` recognize the errors of another copy of this package in the same process: CommonJS beside ES modules, or two versions.
 * A class that an application derives is recognized by its prototype, as usual.
 */
function brand(type: abstract new (...args: never[]) => LockError, name: string): void {
  const mark = Symbol.for(`nestjs-redis-lock.${name}`);
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, error: unknown): boolean {
      return this === type
        ? typeof error === 'object' && error !== null && mark in error
        : Function.prototype[Symbol.hasInstance].call(this, error);
    },
  });
}

/** The base of all errors of this library. `code` is stable, `key` is the lock name where there is one. */
export abstract class LockError extends Error {
  static {
    brand(this, 'LockError');
  }

  abstract readonly code: LockErrorCode;
  /** Written out in each class: a minifier renames classes, and logs would show `a: …`. */
  abstract override readonly name: string;
  /** The lock name the error is about. */
  readonly key: string | undefined;

  constructor(message: string, options: LockErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.key = options.key;
  }

  /**
   * The HTTP status of this error: 409 when another caller holds the lock, 503 when Redis does not answer or too many callers wait, else
   * 500. Where LockErrorFilter is not used, Express and Fastify send it; Nest's BaseExceptionFilter does for an error with all three: `status`
   * is the same, and `expose` keeps the message, which names locks and methods, from the client.
   */
  get statusCode(): 409 | 500 | 503 {
    return httpStatus[this.code] ?? 500;
  }

  get status(): 409 | 500 | 503 {
    return this.statusCode;
  }

  get expose(): false {
    return false;
  }

  /** What an API server sends beside the message of an error, even where no filter of Nest runs. */
  get extensions(): { readonly code: LockErrorCode } {
    return { code: this.code };
  }

  /** With the message, which JSON leaves out of errors. */
  toJSON(): object {
    const { name, code, message, cause } = this;
    return Object.assign({ name, code, message }, this, cause instanceof Error && { cause: readable(cause) });
  }
}

/** A process and its caller, as a holder or waiter of a lock. */
export interface LockParty {
  /**
   * Tells apart the connections of one process, and processes with the same host and pid. Part of a random id; gives no access to its
   * locks. Of a holder that locks with Redisson: its field, `<client>:<thread>`.
   */
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  /**
   * Class and method; undefined for a call of the service. When another process passes the lock on inside: the method that requested it
   * first.
   */
  readonly method: string | undefined;
  /** The option `label` of the call. When another process passes the lock on inside: that of its first caller. */
  readonly label: string | undefined;
  /** `<trace id>-<span id>` of that request, where its process links traces (`linkProcesses` of `nestjs-redis-lock/otel`). */
  readonly trace?: string | undefined;
}

/** Who holds a lock. `foreign`: another program that shares the locks, such as one with Redisson, of which less is known. */
export type LockHolder = LockParty &
  (
    | {
        readonly foreign?: undefined;
        readonly fencingToken: number;
        /**
         * Milliseconds since the grant. When another process passes the lock on inside: since that process has it. Undefined where Redis does
         * not have it: with Redisson's counter of tokens (`redisson.tokens`).
         */
        readonly heldFor: number | undefined;
      }
    | { readonly foreign: true; readonly fencingToken?: undefined; readonly heldFor?: undefined }
  );

/** A mistake in a template, an option, or a key. Refused at once: nothing was sent to Redis. */
export class LockConfigurationError extends LockError {
  static {
    brand(this, 'LockConfigurationError');
  }

  override readonly name: string = 'LockConfigurationError';
  readonly code = 'LOCK_CONFIGURATION';
}

/** Contention: another caller has the lock, at once or for the whole of `wait`. HTTP: 409. */
export class LockNotAcquiredError extends LockError {
  static {
    brand(this, 'LockNotAcquiredError');
  }

  override readonly name: string = 'LockNotAcquiredError';
  readonly code: 'LOCK_CONTENDED' | 'LOCK_WAIT_TIMEOUT' = 'LOCK_CONTENDED';
  /**
   * Milliseconds that were left of the holder's lease, if known: a lock of a crashed holder is free then. Work that ends sooner frees it
   * sooner, and a renewed lease lasts longer. `Infinity` for a lease that never ends.
   */
  readonly leaseLeft: number | undefined;
  /**
   * Who held the lock, as of the last reply; of several holders the earliest. When another process passes the lock on inside, its method
   * and label are those of the caller that requested it first. Undefined when that is not known.
   */
  readonly holder: LockHolder | undefined;

  constructor(
    message: string,
    options: LockErrorOptions & { leaseLeft?: number | undefined; holder?: LockHolder | undefined } = {},
  ) {
    super(message, options);
    this.leaseLeft = options.leaseLeft;
    this.holder = options.holder;
  }
}

/** The caller was in the queue for the whole of `wait`. HTTP: 409. */
export class LockWaitTimeoutError extends LockNotAcquiredError {
  static {
    brand(this, 'LockWaitTimeoutError');
  }

  override readonly name: string = 'LockWaitTimeoutError';
  override readonly code = 'LOCK_WAIT_TIMEOUT';
}

/** `maxWaiters` callers of this process wait already: further ones are refused. That is overload, not contention. HTTP: 503. */
export class LockQueueFullError extends LockError {
  static {
    brand(this, 'LockQueueFullError');
  }

  override readonly name: string = 'LockQueueFullError';
  readonly code = 'LOCK_QUEUE_FULL';
}

/**
 * One name is used with permits and without at the same time: the present holders or waiters requested the other kind. A name belongs to
 * one of the two. HTTP: 500.
 */
export class LockKindMismatchError extends LockError {
  static {
    brand(this, 'LockKindMismatchError');
  }

  override readonly name: string = 'LockKindMismatchError';
  readonly code = 'LOCK_KIND_MISMATCH';
}

/**
 * A flow that holds a shared lock requested the exclusive one inside, or one that holds permits requested more of them. It would wait for
 * itself, and two such flows for each other. Refused at once: nothing was sent to Redis. HTTP: 500.
 */
export class LockUpgradeError extends LockError {
  static {
    brand(this, 'LockUpgradeError');
  }

  override readonly name: string = 'LockUpgradeError';
  readonly code = 'LOCK_UPGRADE';
}

/**
 * Why a lock was lost:
 * `expired` – its lease ran out before it was released or renewed;
 * `revoked` – Redis no longer knew the holder (flushed, evicted, deleted, restarted without its data, lost in a failover, or released by
 * force);
 * `max-hold` – the hold reached `maxHold`;
 * `shutdown` – the application ended before the work did;
 * `released` – it was used after its own `release()`;
 * `exported` – it was used after its own `export()`;
 * `adopted` – it cannot be adopted with this ticket, because another caller has adopted it.
 */
export type LockLostReason = 'expired' | 'revoked' | 'max-hold' | 'shutdown' | 'released' | 'exported' | 'adopted';

/** The lock was lost while its holder still worked. Another caller may hold it now. HTTP: 500. */
export class LockLostError extends LockError {
  static {
    brand(this, 'LockLostError');
  }

  override readonly name: string = 'LockLostError';
  readonly code = 'LOCK_LOST';
  readonly reason: LockLostReason;

  constructor(message: string, options: LockErrorOptions & { reason: LockLostReason }) {
    super(message, options);
    this.reason = options.reason;
  }
}

/** Redis could not be reached, or did not answer in time. Says nothing about whether the lock is free. HTTP: 503. */
export class LockUnavailableError extends LockError {
  static {
    brand(this, 'LockUnavailableError');
  }

  override readonly name: string = 'LockUnavailableError';
  readonly code = 'LOCK_UNAVAILABLE';
  /**
   * True when the command may have been executed although its reply is missing.
   * The library takes back by itself what such a command did.
   */
  readonly uncertain: boolean;

  constructor(message: string, options: LockErrorOptions & { uncertain?: boolean | undefined } = {}) {
    super(message, options);
    this.uncertain = options.uncertain ?? false;
  }
}

/** The result of one request at one node of a quorum. */
export interface NodeVote {
  /** Its host and port. */
  readonly node: string;
  /**
   * `granted`: it gave its vote; `contended`: another claim has the vote; `unreachable`: it could not be reached, or did not reply in time;
   * `connected`: it was reached, at the start of the application or for a view of locks.
   */
  readonly reply: 'granted' | 'contended' | 'unreachable' | 'connected';
  /** Why it is unreachable. */
  readonly error?: string | undefined;
}

/** Too few nodes of a quorum could be reached. Never thrown because another caller holds the lock. HTTP: 503. */
export class QuorumNotReachedError extends LockUnavailableError {
  static {
    brand(this, 'QuorumNotReachedError');
  }

  override readonly name: string = 'QuorumNotReachedError';
  /** One entry for each node, in the order of the option `quorum.nodes`. */
  readonly votes: readonly NodeVote[];

  constructor(
    message: string,
    options: LockErrorOptions & { uncertain?: boolean | undefined; votes: readonly NodeVote[] },
  ) {
    super(message, options);
    this.votes = options.votes;
  }
}

/** For errors of other libraries their name and message only: their fields may contain secrets. */
const readable = (error: Error): object =>
  error instanceof LockError ? error : { name: error.name, message: error.message };
