import { LockConfigurationError, LockLostError } from '../errors/lock-errors.js';
import { printable } from './describe.js';

const at = (where: string | undefined): string => (where === undefined ? '' : `${where}: `);

/** Handing a lock over: `lock.export()` and `locks.adopt()`. */
export const transferRefusals = {
  /** What was given to `adopt` is no ticket, or one that was cut or changed on its way. It is not shown: whoever has a ticket can adopt the lock. */
  noTicket: (why: string) =>
    new LockConfigurationError(`ticket: ${why}. Give the string that lock.export() answered, as it is.`),

  /** `export()` where a re-entry uses the same hold, or of a re-entry. */
  notAlone: (key: string, where?: string) =>
    new LockConfigurationError(
      `${at(where)}Lock ${printable(key)}: others inside it use the same hold (re-entry), and would be left without it. Export it where it was taken, when they have ended.`,
      { key },
    ),

  /** A `backend` of your own that leaves it out. */
  notProvided: (what: string) =>
    new LockConfigurationError(
      `${what}: the backend of this connection cannot hand a lock over. Use another connection.`,
    ),
} as const;

/** Tickets that come too late. */
export const ticketLosses = {
  /** `adopt` after the lease of the ticket was over, or after the lock was released: nobody, or somebody new, holds it. */
  tooLate: (key: string) =>
    new LockLostError(
      `Lock ${printable(key)} cannot be adopted: its lease was over before, or it was released. Adopt it sooner, export it with a longer lease, or acquire it anew.`,
      { key, reason: 'expired' },
    ),

  /** A second `adopt` with the same ticket: a job that was delivered twice, or tried again while the first try goes on. */
  adoptedElsewhere: (key: string) =>
    new LockLostError(
      `Lock ${printable(key)} cannot be adopted: somebody has adopted it with this ticket before, and works. Leave the work to that one.`,
      { key, reason: 'adopted' },
    ),
} as const;
