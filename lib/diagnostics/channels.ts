import type { LockHolder, LockLostError, LockLostReason } from '../errors/lock-errors.js';
import { channel, tracingChannel } from './platform.js';

/** Which lock a message is about. */
export interface LockSubject {
  /** May contain text of users, and has any number of values: no label for a metric. */
  readonly key: string;
  /**
   * Without values, so a label for metrics: the template of the decorator, or the text of `lockName` with `*` in place of its values. `*` for
   * a name that no such text makes. An election has its name.
   */
  readonly template: string;
  /** The name of the module's connection. */
  readonly connection: string;
  readonly kind: 'exclusive' | 'shared' | 'permits';
  /** Class and method. Undefined for a call of the service. */
  readonly method: string | undefined;
  /** The option `label` of the call. As the key, with any number of values. */
  readonly label: string | undefined;
}

/**
 * How a request for a lock ended. `retried`: one step of a call for several names, which goes on; not an end for the caller. `aborted`: by
 * the caller's signal, or because another lock of the same call was lost. `failed`: any other error.
 */
export type LockAcquireOutcome =
  'acquired' | 'contended' | 'timeout' | 'queue_full' | 'aborted' | 'unavailable' | 'retried' | 'failed';

/** One request for a lock, from the call to its end. One object for all messages of a request: later ones have more of it. */
export interface LockAcquireContext extends LockSubject {
  /** True when the caller did not get the lock at once. */
  contended: boolean;
  /** Who held the lock, as of the last reply. Undefined when that is not known. */
  holder: LockHolder | undefined;
  /**
   * A subscriber of `start` may set it to the caller's span, `<trace id>-<span id>` in hexadecimal digits. Waiters of other processes then
   * see it as `holder.trace`.
   */
  trace: string | undefined;
  /** From whom the lock came without a gap: another caller of this process, or of another one. */
  handOff: 'local' | 'remote' | undefined;
  /** From here on known at the end. Milliseconds from the call to the end. */
  waited: number | undefined;
  outcome: LockAcquireOutcome | undefined;
  fencingToken: number | undefined;
  error: unknown;
}

/** One hold of a lock, from the grant to its end. One object for all messages of a hold. */
export interface LockHoldContext extends LockSubject {
  readonly fencingToken: number;
  /** The request that was granted. Undefined for an adopted lock. */
  readonly request: LockAcquireContext | undefined;
  /** A subscriber of `start` may set it: the work of a decorated method or of `using` then runs inside, such as in the context of a span. */
  run: (<T>(work: () => T) => T) | undefined;
  /** From here on known at the end. Milliseconds from the grant to the end. */
  held: number | undefined;
  outcome: 'released' | 'lost' | 'exported' | undefined;
  /** Since the lock was lost. */
  error: LockLostError | undefined;
}

/** The payloads of all channels, by name: https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/operate/diagnostics.md */
export interface LockChannels {
  'nestjs-redis-lock:acquired': {
    readonly key: string;
    readonly fencingToken: number;
    /** Milliseconds between the call and the grant. */
    readonly waited: number;
  };
  'nestjs-redis-lock:contended': LockSubject & {
    /** Who holds the lock. Undefined when that is not known. */
    readonly holder: LockHolder | undefined;
  };
  'nestjs-redis-lock:renewed': LockSubject & {
    readonly fencingToken: number;
    readonly outcome: 'renewed' | 'lost' | 'unanswered';
    /** Milliseconds that were left of the lease when the reply came. Shortly before a loss they are few. */
    readonly leaseLeft: number;
    /** Milliseconds. */
    readonly lease: number;
    /** True for the confirmation of a grant by message: that lasts for 3 s at most, so `leaseLeft` says nothing about the lease. */
    readonly provisional: boolean;
  };
  'nestjs-redis-lock:released': {
    readonly key: string;
    readonly fencingToken: number;
    /** Milliseconds between the grant and the release. */
    readonly held: number;
  };
  'nestjs-redis-lock:lost': {
    readonly key: string;
    readonly fencingToken: number;
    readonly reason: LockLostReason;
  };
  'nestjs-redis-lock:exported': {
    readonly key: string;
    readonly fencingToken: number;
    /** Milliseconds between the grant and the export. */
    readonly held: number;
  };
  'nestjs-redis-lock:adopted': {
    readonly key: string;
    readonly fencingToken: number;
  };
  'nestjs-redis-lock:force-released': LockSubject & {
    /** The process that called `forceRelease`. */
    readonly by: Pick<LockHolder, 'client' | 'host' | 'pid'>;
    /** The person and the reason, as given to `forceRelease`. */
    readonly actor: string | undefined;
    readonly reason: string | undefined;
    /** The previous holders. */
    readonly holders: readonly LockHolder[];
  };
  'tracing:nestjs-redis-lock:acquire:start': LockAcquireContext;
  'tracing:nestjs-redis-lock:acquire:error': LockAcquireContext;
  'tracing:nestjs-redis-lock:acquire:asyncEnd': LockAcquireContext;
  'tracing:nestjs-redis-lock:hold:start': LockHoldContext;
  'tracing:nestjs-redis-lock:hold:error': LockHoldContext;
  'tracing:nestjs-redis-lock:hold:asyncEnd': LockHoldContext;
}

/** The channels for subscribers of `node:diagnostics_channel`. Names and payloads are public. A payload is built only for subscribers. */
export const channels = {
  acquire: tracingChannel<string, LockAcquireContext>('nestjs-redis-lock:acquire'),
  hold: tracingChannel<string, LockHoldContext>('nestjs-redis-lock:hold'),
  acquired: channel('nestjs-redis-lock:acquired'),
  contended: channel('nestjs-redis-lock:contended'),
  renewed: channel('nestjs-redis-lock:renewed'),
  released: channel('nestjs-redis-lock:released'),
  lost: channel('nestjs-redis-lock:lost'),
  exported: channel('nestjs-redis-lock:exported'),
  adopted: channel('nestjs-redis-lock:adopted'),
  forceReleased: channel('nestjs-redis-lock:force-released'),
} as const;
