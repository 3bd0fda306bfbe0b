import type { LockDemand } from './lock-backend.js';
import { refusals } from './refusals.js';

/**
 * Checks that a flow's hold of a name is enough for a request inside it: an exclusive lock covers a shared one, and permits cover as many
 * or fewer.
 * @throws LockUpgradeError when it is too little: the flow would wait for itself. LockKindMismatchError for permits beside another kind.
 */
export function assertCovers(name: string, held: LockDemand, asked: LockDemand, where: string | undefined): void {
  if ((held.kind === 'permits') !== (asked.kind === 'permits'))
    throw refusals.kindMismatch(name, asked.kind, held.kind, where);
  if (held.kind === 'shared' && asked.kind === 'exclusive') throw refusals.upgrade(name, where);
  if (held.permits < asked.permits) throw refusals.morePermits(name, held.permits, asked.permits, where);
}
