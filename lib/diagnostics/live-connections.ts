import type { LockSubject } from './channels.js';

/** A connection of this process to its locks, as gauges see it. */
export interface LiveConnection {
  /** Its name in the module. */
  readonly connection: string;
  /** What its callers hold now. */
  heldLocks(): Iterable<LockSubject>;
  /** What its callers wait for now. */
  waitingCallers(): Iterable<LockSubject>;
  /** The elections that it stands for or has stood for, and whether it leads. */
  candidacies(): Iterable<readonly [LockSubject, isLeader: boolean]>;
  /** Its servers, and whether locks are available there. */
  availability(): Iterable<readonly [server: string, isAvailable: boolean]>;
}

const place = Symbol.for('nestjs-redis-lock.connections');

/** All connections of the process that are open, also those of another copy of this package. */
export const liveConnections: Set<LiveConnection> = ((globalThis as { [place]?: Set<LiveConnection> })[place] ??=
  new Set<LiveConnection>());
