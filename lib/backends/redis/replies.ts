import { certainUntil } from '../../core/clock.js';
import { withoutClaims } from '../../core/claim-id.js';
import { printable } from '../../errors/describe.js';
import type {
  AcquireReply,
  AdoptReply,
  AcquireRequest,
  ActivityReports,
  ClaimRef,
  HolderSnapshot,
  LockKind,
  LockSnapshot,
  PresentHolder,
  ReleaseReply,
  RenewReply,
} from '../../core/lock-backend.js';

/**
 * A reply that no script or command of this library sends: something between here and Redis changes replies, or the connection is out of
 * step.
 */
export class UnexpectedReply extends Error {
  override readonly name = 'UnexpectedReply';

  constructor(command: string, reply: unknown) {
    super(`${command} was answered with ${printable(withoutClaims(JSON.stringify(reply) ?? String(reply)))}`);
  }
}

/** The server's time in µs, then a reply for each claim; or 'late' when the command came too late for all of them. */
export type TimedReply = readonly [now: number, ...answers: unknown[]];

/** @throws UnexpectedReply @param claims how many were sent */
export function timedReply(command: string, reply: unknown, claims: number): TimedReply {
  const isWhole = Array.isArray(reply) && (reply.length === 1 + claims || reply[1] === 'late');
  if (isWhole && isCount(reply[0])) return reply as unknown as TimedReply;
  throw new UnexpectedReply(command, reply);
}

/** A reply for each claim, or 'released' for all of them. @throws UnexpectedReply */
export function releaseReplies(reply: unknown, claims: number): 'released' | readonly unknown[] {
  if (reply === 'released' || (Array.isArray(reply) && reply.length === claims)) return reply;
  throw new UnexpectedReply('release', reply);
}

/** µs since 1970, from the reply to TIME. @throws UnexpectedReply */
export function decodeTime(reply: unknown): number {
  const [seconds, micros] = Array.isArray(reply) ? reply.map(Number) : [];
  if (isCount(seconds) && isCount(micros)) return seconds * 1e6 + micros;
  throw new UnexpectedReply('TIME', reply);
}

/** How many replicas have the writes. @throws UnexpectedReply */
export function decodeCopies(reply: unknown): number {
  if (isCount(reply)) return reply;
  throw new UnexpectedReply('WAIT', reply);
}

/** @throws UnexpectedReply */
export function decodeScan(reply: unknown): [next: string, keys: string[]] {
  const [next, keys] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (typeof next === 'string' && isTexts(keys)) return [next, keys];
  throw new UnexpectedReply('SCAN', reply);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');
const areCounts = (...values: number[]): boolean => values.every(isCount);

/** The reply of the acquire and the share script for one claim (its REPLY header), decoded. */
export type DecodedAcquire =
  | Exclude<AcquireReply, { status: 'queued' }>
  | {
      readonly status: 'queued';
      /** ms until it should ask again. */ readonly rest: number;
      readonly listening: boolean;
      readonly yields: boolean;
      readonly holder: PresentHolder | undefined;
    }
  /** `held`: a kind, or of another program's lock a word. */
  | { readonly status: 'mismatch'; readonly held: string };

const refusal = /^(?:contended (\d+|-)|queued (\d+|-) (listening|yielding|polling))(?: (\S+) (\d+|-) (\d+|-))?$/;

/** @param sentAt when the request was sent (local ms): the server cannot have granted earlier. */
export function decodeAcquire(reply: unknown, request: AcquireRequest, sentAt: number): DecodedAcquire {
  if (typeof reply === 'number') {
    // Granted with the requested terms, by a server without waiters.
    return {
      status: 'granted',
      fencingToken: reply,
      validUntil: certainUntil(sentAt, request.lease),
      tokensUntil: reply + request.reserve,
      othersWait: false,
    };
  }
  const words = String(reply).split(' ');
  switch (words[0]!) {
    case 'granted': {
      const [fencingToken, lease, tokensUntil] = [Number(words[1]), Number(words[2]), Number(words[3])];
      const owed = Number(words[4]);
      if (!areCounts(fencingToken, lease, tokensUntil, owed)) break;
      const validUntil = certainUntil(sentAt, lease);
      return { status: 'granted', fencingToken, validUntil, tokensUntil, othersWait: owed > 0, owed };
    }
    case 'contended':
    case 'queued': {
      const [, contended, queued, standing, id, token, heldFor] = refusal.exec(String(reply)) ?? [];
      if ((contended ?? queued) === undefined) break;
      const rest = restIn((contended ?? queued)!);
      const holder = id === undefined ? undefined : holderIn(id, known(token!), known(heldFor!), rest);
      if (contended !== undefined) return { status: 'contended', leaseLeft: rest, holder };
      return { status: 'queued', rest, listening: standing !== 'polling', yields: standing === 'yielding', holder };
    }
    case 'mismatch':
      return { status: 'mismatch', held: words[1]! };
  }
  throw new UnexpectedReply('acquire', reply);
}

/** '-' stands for what a server does not have. */
const known = (text: string): number | undefined => (text === '-' ? undefined : Number(text));

/** ms; '-' stands for a lease that never ends. */
const restIn = (text: string | number): number => (text === '-' ? Number.POSITIVE_INFINITY : Number(text));

/** The rest of its lease tells about a holder whose grant is not known. @param rest ms */
const holderIn = (
  id: string,
  fencingToken: number | undefined,
  heldFor: number | undefined,
  rest: number,
): PresentHolder =>
  heldFor === undefined ? { id, fencingToken, heldFor, leaseLeft: rest } : { id, fencingToken, heldFor };

/** True when the acquire script granted the lock to the claim. */
export function isGrant(reply: unknown): boolean {
  return typeof reply === 'number' || (typeof reply === 'string' && reply.startsWith('granted '));
}

export function decodeRelease(reply: unknown): ReleaseReply {
  if (reply === 'released' || reply === 'cancelled' || reply === 'absent') return reply;
  throw new UnexpectedReply('release', reply);
}

/** @param sentAt as in `decodeAcquire` @throws UnexpectedReply */
export function decodeRenew(reply: unknown, sentAt: number): RenewReply {
  if (reply === 'lost') return reply;
  const [rest, tokensUntil, owed] = String(reply).split(' ').map(Number) as [number, number, number];
  if (!areCounts(rest, tokensUntil, owed)) throw new UnexpectedReply('renew', reply);
  return { validUntil: certainUntil(sentAt, rest), tokensUntil, othersWait: owed > 0, owed };
}

/** @param sentAt as in `decodeAcquire` @throws UnexpectedReply */
export function decodeAdopt(reply: unknown, sentAt: number): AdoptReply | 'late' {
  const [word, rest] = String(reply).split(' ');
  if (word === 'adopted' && areCounts(Number(rest))) return { validUntil: certainUntil(sentAt, Number(rest)) };
  if (word === 'gone' || word === 'taken' || word === 'late') return word;
  throw new UnexpectedReply('adopt', reply);
}

/** The claims that lost their lock. @throws UnexpectedReply */
export function decodeRevoke(reply: unknown): readonly string[] {
  if (isTexts(reply)) return reply;
  throw new UnexpectedReply('revoke', reply);
}

type ReportReply = [process: string, age: number, text: string];

const isReportReply = (reply: unknown): reply is ReportReply =>
  Array.isArray(reply) && typeof reply[0] === 'string' && isCount(reply[1]) && typeof reply[2] === 'string';

/** @throws UnexpectedReply */
export function decodeReports(reply: unknown): ActivityReports {
  const [total, ...reports] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (!isCount(total) || !reports.every(isReportReply)) throw new UnexpectedReply('activity', reply);
  return { total, reports: reports.map(([process, age, text]) => ({ process, age, text })) };
}

type HolderReply = [
  claim: string,
  token: string,
  age: number | '-',
  rest: number | '-',
  state: 'full' | 'provisional' | 'kept',
  permits: number,
];
type InspectReply = [
  kind: LockKind | '',
  limit: number,
  HolderReply[],
  Array<[claim: string, age: number, kind: LockKind, permits: number, reachable: 0 | 1]>,
];

/** A record calls a lease `full` when its holder knows of it. */
const stateOf = (state: HolderReply[4]): HolderSnapshot['state'] => (state === 'full' ? 'held' : state);

/** @throws UnexpectedReply */
export function decodeInspect(reply: unknown): LockSnapshot {
  if (!isInspectReply(reply)) throw new UnexpectedReply('inspect', reply);
  const [kind, limit, holders, waiters] = reply;
  return {
    kind: kind === '' ? undefined : kind,
    limit: limit > 0 ? limit : undefined,
    holders: holders
      .map(([claim, token, age, rest, state, permits]) => {
        return {
          id: claim,
          fencingToken: known(token),
          heldFor: age === '-' ? undefined : age / 1000,
          leaseLeft: restIn(rest),
          state: stateOf(state),
          permits,
        };
      })
      .sort((one, other) => (one.fencingToken ?? 0) - (other.fencingToken ?? 0)),
    waiters: waiters
      .map(([claim, age, wanted, permits, reachable]) => {
        return { id: claim, waited: age / 1000, kind: wanted, permits, reachable: reachable === 1 };
      })
      .sort((one, other) => other.waited - one.waited),
  };
}

const isInspectReply = (reply: unknown): reply is InspectReply =>
  Array.isArray(reply) &&
  typeof reply[0] === 'string' &&
  isCount(reply[1]) &&
  [reply[2], reply[3]].every((parties) => Array.isArray(parties) && parties.every(Array.isArray));

/** The error for one claim of a script ('failed <error>'), in the form in which ioredis passes on errors of the server. */
export function failureIn(reply: unknown): Error | undefined {
  return typeof reply === 'string' && reply.startsWith('failed ') ? new ScriptError(reply.slice(7)) : undefined;
}

class ScriptError extends Error {
  override readonly name = 'ReplyError';
}

/**
 * The message that the scripts publish with a grant: claim, token, last reserved token, server time, length, record key (which may contain
 * spaces).
 */
export interface GrantMessage {
  readonly id: string;
  readonly fencingToken: number;
  readonly tokensUntil: number;
  readonly now: number;
  readonly length: number;
  readonly record: string;
}

const grantMessage = /^(\S+) (\d+) (\d+) (\d+) (\d+) (.*)$/s;

/** Undefined for a message of another sender: other programs may publish on the channel. */
export function decodeGrant(message: string): GrantMessage | undefined {
  const parts = grantMessage.exec(message);
  if (!parts) return undefined;
  return {
    id: parts[1]!,
    fencingToken: Number(parts[2]),
    tokensUntil: Number(parts[3]),
    now: Number(parts[4]),
    length: Number(parts[5]),
    record: parts[6]!,
  };
}

const notice = /^(?:revoked (\S+)|ask (\S+) (\d+)) (.*)$/s;

/**
 * `revoked`: the claim may have lost its lock. `rest`: the claim should ask after so many ms, since a lease ends earlier than it knows.
 * Undefined for any other message.
 */
export function decodeNotice(
  message: string,
): (Pick<ClaimRef, 'id'> & { readonly record: string; readonly rest: number | undefined }) | undefined {
  const [, revoked, asks, rest, record] = notice.exec(message) ?? [];
  const claim = revoked ?? asks;
  return claim && record ? { id: claim, record, rest: rest === undefined ? undefined : Number(rest) } : undefined;
}
