import { channel } from 'node:diagnostics_channel';
import type { LockLostReason } from '../errors/lock-errors.js';

export interface LockAcquiredMessage {
  readonly key: string;
  readonly fencingToken: number;
  /** Milliseconds between the call and the grant. */
  readonly waited: number;
}

export interface LockReleasedMessage {
  readonly key: string;
  readonly fencingToken: number;
  /** Milliseconds between the grant and the release. */
  readonly held: number;
}

export interface LockLostMessage {
  readonly key: string;
  readonly fencingToken: number;
  readonly reason: LockLostReason;
}

export interface LockExportedMessage {
  readonly key: string;
  readonly fencingToken: number;
  /** Milliseconds between the grant and the export. */
  readonly held: number;
}

export interface LockAdoptedMessage {
  readonly key: string;
  readonly fencingToken: number;
}

/** A process: host and pid, and an id that tells its connections apart. */
export interface LockPartyMessage {
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
}

export interface LockForceReleasedMessage {
  readonly key: string;
  /** The process that called `forceRelease`. */
  readonly by: LockPartyMessage;
  /** The previous holders. */
  readonly holders: ReadonlyArray<
    LockPartyMessage & {
      readonly method: string | undefined;
      readonly fencingToken: number;
      /** Milliseconds. */
      readonly heldFor: number;
    }
  >;
}

/**
 * The channels for subscribers of `node:diagnostics_channel`. Names and payloads are public:
 * https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/diagnostics.md A payload is built only when a subscriber listens.
 */
export const channels = {
  acquired: channel('nestjs-redis-lock:acquired'),
  released: channel('nestjs-redis-lock:released'),
  lost: channel('nestjs-redis-lock:lost'),
  exported: channel('nestjs-redis-lock:exported'),
  adopted: channel('nestjs-redis-lock:adopted'),
  forceReleased: channel('nestjs-redis-lock:force-released'),
} as const;
