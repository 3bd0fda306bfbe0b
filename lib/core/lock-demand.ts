import { callerOf } from './describe.js';
import type { LockDemand } from './lock-backend.js';
import type { ResolvedLockOptions } from './options.js';
import { refusals } from './refusals.js';

/**
 * Checks that a flow's hold of a name is enough for a request inside it: an exclusive lock covers a shared one, and permits cover as many
 * or fewer.
 * @throws LockUpgradeError when it is too little: the flow would wait for itself. LockKindMismatchError for permits beside another kind.
 */
export function assertCovers(name: string, held: LockDemand, asked: ResolvedLockOptions): void {
  const { kind, permits, method, label } = asked;
  if ((held.kind === 'permits') !== (kind === 'permits'))
    throw refusals.kindMismatch(name, kind, held.kind, callerOf(method, label));
  if (held.kind === 'shared' && kind === 'exclusive') throw refusals.upgrade(name, callerOf(method, label));
  if (held.permits < permits) throw refusals.morePermits(name, held.permits, permits, callerOf(method, label));
}
