import type { LockDemand, LockKind } from './lock-backend.js';
import { fromBase64url, toBase64url } from '../diagnostics/platform.js';
import { mostNamesOfLock, assertLockName } from './lock-key.js';
import { transferRefusals as refusals } from './transfers.messages.js';

/** A hold on its way to another process: its present claim, and the token, which stays. */
export interface TicketHold {
  readonly name: string;
  readonly claim: string;
  readonly fencingToken: number;
}

/** The content of a ticket. */
export interface TicketContent extends LockDemand {
  /** In the order of their names. */
  readonly holds: readonly TicketHold[];
}

const header = 'lock-ticket:';
const version = '1:';
/** Characters: more than all names and claims at their longest need. */
const longestTicket = 2_800_000;
/** Characters: more than a claim with the longest label, host and method has. */
const longestClaim = 1_200;

/** One word of text, safe in queues, JSON and headers. Its claims are secrets: any holder of the ticket can adopt the lock. */
export function writeTicket({ kind, permits, limit, holds }: TicketContent): string {
  const parts = holds.map(({ name, claim, fencingToken }) => [name, claim, fencingToken]);
  return header + version + toBase64url(JSON.stringify([kind, permits, limit, ...parts]));
}

/** @throws LockConfigurationError for anything but a ticket. */
export function readTicket(ticket: unknown): TicketContent {
  if (typeof ticket !== 'string') throw refusals.noTicket(ticket === null ? 'null given' : `${typeof ticket} given`);
  if (!ticket.startsWith(header)) throw refusals.noTicket('this text is none');
  if (!ticket.startsWith(version, header.length)) throw refusals.noTicket('it is of another version of this library');
  const encoded = ticket.slice(header.length + version.length);
  if (encoded.length > longestTicket || !/^[\w-]+$/.test(encoded)) throw damaged();
  let content: unknown;
  try {
    content = JSON.parse(fromBase64url(encoded));
  } catch {
    throw damaged();
  }
  const read = contentOf(content);
  // A ticket that was cut or changed does not come out the same.
  if (!read || writeTicket(read) !== ticket) throw damaged();
  return read;
}

const damaged = (): Error => refusals.noTicket('it was cut or changed');

const kinds: readonly unknown[] = ['exclusive', 'shared', 'permits'] satisfies LockKind[];

function contentOf(content: unknown): TicketContent | undefined {
  if (!Array.isArray(content)) return undefined;
  const [kind, permits, limit, ...parts] = content as unknown[];
  if (!kinds.includes(kind) || !isCount(permits, 1) || !isCount(limit, 0)) return undefined;
  const holds = parts.map(holdOf);
  if (holds.length === 0 || holds.length > mostNamesOfLock) return undefined;
  if (holds.some((hold, index) => !hold || (index > 0 && hold.name <= holds[index - 1]!.name))) return undefined;
  return { kind: kind as LockKind, permits, limit, holds: holds as TicketHold[] };
}

function holdOf(part: unknown): TicketHold | undefined {
  if (!Array.isArray(part)) return undefined;
  const [name, claim, fencingToken] = part as unknown[];
  // Scripts split words at spaces, and ids at ':'.
  if (typeof claim !== 'string' || claim.length > longestClaim || !/^[\w.$-]+:[\w.$:%-]+$/.test(claim))
    return undefined;
  if (!isCount(fencingToken, 1)) return undefined;
  try {
    assertLockName(name);
  } catch {
    return undefined;
  }
  return { name, claim, fencingToken };
}

const isCount = (value: unknown, least: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
