import { LockConfigurationError, LockLostError } from '../errors/lock-errors.js';
import { printable } from '../errors/describe.js';

const at = (where: string | undefined): string => (where === undefined ? '' : `${where}: `);

/** Handing a lock over: `lock.export()` and `locks.adopt()`. */
export const transferRefusals = {
  /**
   * The value given to `adopt` is no ticket, or was cut or changed on its way. The message does not show it: any holder of a ticket can
   * adopt the lock.
   */
  noTicket: (why: string) =>
    new LockConfigurationError(`ticket: ${why}. Pass the string that lock.export() returned, unchanged.`),

  /** `export()` where a re-entry uses the same hold, or of a re-entry. */
  notAlone: (key: string, where?: string) =>
    new LockConfigurationError(
      `${at(where)}Lock ${printable(key)}: other callers inside it use the same hold (re-entry) and would lose it. Export it where it was taken, after they have ended.`,
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
  /** `adopt` after the lease of the ticket was over, or after the lock was released: it is free, or another holder has it. */
  tooLate: (key: string) =>
    new LockLostError(
      `Lock ${printable(key)} cannot be adopted: its lease has ended, or it was released. Adopt it sooner, export it with a longer lease, or acquire it again.`,
      { key, reason: 'expired' },
    ),

  /** A second `adopt` with the same ticket: a job that was delivered twice, or tried again while the first try goes on. */
  adoptedElsewhere: (key: string) =>
    new LockLostError(
      `Lock ${printable(key)} cannot be adopted: another process has already adopted it with this ticket. Leave the work to that process.`,
      { key, reason: 'adopted' },
    ),
} as const;
