import { certainUntil } from '../../core/clock.js';
import type {
  AcquireReply,
  AdoptReply,
  AcquireRequest,
  ClaimRef,
  HolderSnapshot,
  LockKind,
  LockSnapshot,
  ReleaseReply,
  RenewReply,
} from '../../core/lock-backend.js';

/** What the acquire and the share script answer for one claim (its REPLY header), decoded. */
export type AcquireAnswer =
  | Exclude<AcquireReply, { status: 'queued' }>
  | { readonly status: 'queued'; /** Of the holder's lease, in ms. */ readonly rest: number; readonly heard: boolean }
  | { readonly status: 'mismatch'; readonly held: LockKind };

/** @param sentAt when the question was sent (local ms): the server cannot have granted earlier. */
export function decodeAcquire(reply: unknown, request: AcquireRequest, sentAt: number): AcquireAnswer {
  if (typeof reply === 'number') {
    // As asked for, from a server where nobody waits.
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
    case 'granted':
      return {
        status: 'granted',
        fencingToken: Number(words[1]),
        validUntil: certainUntil(sentAt, Number(words[2])),
        tokensUntil: Number(words[3]),
        othersWait: words[4] !== '0',
      };
    case 'contended':
      return { status: 'contended', rest: Number(words[1]) };
    case 'queued':
      return { status: 'queued', rest: Number(words[1]), heard: words[3] === 'heard' };
    case 'mismatch':
      return { status: 'mismatch', held: words[1] as LockKind };
    default:
      throw new Error(`the acquire script answered ${JSON.stringify(reply)}`);
  }
}

/** Whether the acquire script granted the lock to the claim. */
export function isGrant(reply: unknown): boolean {
  return typeof reply === 'number' || (typeof reply === 'string' && reply.startsWith('granted '));
}

export function decodeRelease(reply: unknown): ReleaseReply {
  if (reply === 'released' || reply === 'cancelled' || reply === 'absent') return reply;
  throw new Error(`the release script answered ${JSON.stringify(reply)}`);
}

/** @param sentAt as in `decodeAcquire` */
export function decodeRenew(reply: string, sentAt: number): RenewReply {
  if (reply === 'lost') return reply;
  const [rest, tokensUntil, waiters] = reply.split(' ');
  return {
    validUntil: certainUntil(sentAt, Number(rest)),
    tokensUntil: Number(tokensUntil),
    othersWait: waiters !== '0',
  };
}

/** @param sentAt as in `decodeAcquire` */
export function decodeAdopt(reply: string, sentAt: number): AdoptReply | 'late' {
  const [word, rest] = reply.split(' ');
  if (word === 'adopted') return { validUntil: certainUntil(sentAt, Number(rest)) };
  if (word === 'gone' || word === 'taken' || word === 'late') return word;
  throw new Error(`the adopt script answered ${JSON.stringify(reply)}`);
}

type HolderReply = [
  claim: string,
  token: string,
  age: number,
  rest: number,
  state: HolderSnapshot['state'],
  permits: number,
];
type InspectReply = [
  kind: LockKind | '',
  limit: number,
  HolderReply[],
  Array<[claim: string, age: number, kind: LockKind, permits: number]>,
];

export function decodeInspect(reply: unknown): LockSnapshot {
  const [kind, limit, holders, waiters] = reply as InspectReply;
  return {
    kind: kind === '' ? undefined : kind,
    limit: limit > 0 ? limit : undefined,
    holders: holders
      .map(([claim, token, age, leaseLeft, state, permits]) => {
        return { claim, fencingToken: Number(token), heldFor: age / 1000, leaseLeft, state, permits };
      })
      .sort((one, other) => one.fencingToken - other.fencingToken),
    waiters: waiters.map(([claim, age, wanted, permits]) => ({ claim, waited: age / 1000, kind: wanted, permits })),
  };
}

/** What a script says went wrong with one claim ('failed <error>'), in the shape in which ioredis passes on errors of the server. */
export function failureIn(reply: unknown): Error | undefined {
  return typeof reply === 'string' && reply.startsWith('failed ') ? new ScriptError(reply.slice(7)) : undefined;
}

class ScriptError extends Error {
  override readonly name = 'ReplyError';
}

/** The message that the scripts publish with a grant: claim, token, last reserved token, server now, length, record key (which may hold spaces). */
export interface GrantMessage {
  readonly claim: string;
  readonly fencingToken: number;
  readonly tokensUntil: number;
  readonly now: number;
  readonly length: number;
  readonly record: string;
}

const grantMessage = /^(\S+) (\d+) (\d+) (\d+) (\d+) (.*)$/s;

/** Undefined for a message that no script of ours has sent: the channel is not ours alone. */
export function decodeGrant(message: string): GrantMessage | undefined {
  const parts = grantMessage.exec(message);
  if (!parts) return undefined;
  return {
    claim: parts[1]!,
    fencingToken: Number(parts[2]),
    tokensUntil: Number(parts[3]),
    now: Number(parts[4]),
    length: Number(parts[5]),
    record: parts[6]!,
  };
}

const revocation = /^revoked (\S+) (.*)$/s;

/** 'revoked', the claim that lost its lock, and the record key. Undefined for any other message. */
export function decodeRevocation(message: string): (Pick<ClaimRef, 'claim'> & { readonly record: string }) | undefined {
  const parts = revocation.exec(message);
  return parts ? { claim: parts[1]!, record: parts[2]! } : undefined;
}
