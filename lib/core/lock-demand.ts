import type { LockDemand } from './lock-backend.js';
import { refusals } from './refusals.js';

/**
 * Whether what a flow holds of a name is enough for what it asks for inside: an exclusive lock is one to read, too, and permits cover
 * as many or fewer.
 * @throws LockUpgradeError when it is too little: the flow would wait for itself. LockKindMismatchError for permits beside something else.
 */
export function assertCovers(name: string, held: LockDemand, asked: LockDemand, where: string | undefined): void {
  if ((held.kind === 'permits') !== (asked.kind === 'permits'))
    throw refusals.kindMismatch(name, asked.kind, held.kind, where);
  if (held.kind === 'shared' && asked.kind === 'exclusive') throw refusals.upgrade(name, where);
  if (held.permits < asked.permits) throw refusals.morePermits(name, held.permits, asked.permits, where);
}
