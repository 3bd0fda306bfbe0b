import { certainUntil } from '../../core/clock.js';
import type { AcquireReply, ReleaseReply } from '../../core/lock-backend.js';

/** What the acquire script answers for one claim (its REPLY header), decoded. */
export type AcquireAnswer =
  | Exclude<AcquireReply, { status: 'queued' }>
  | { readonly status: 'queued'; /** Of the holder's lease, in ms. */ readonly rest: number; readonly heard: boolean }
  | { readonly status: 'late' };

/** @param sentAt when the question was sent (local ms): the server cannot have granted earlier. */
export function decodeAcquire(reply: unknown, sentAt: number): AcquireAnswer {
  const answer = reply as readonly [string, number, number, number | string, number];
  switch (answer[0]) {
    case 'granted':
      return {
        status: 'granted',
        fencingToken: answer[1],
        validUntil: certainUntil(sentAt, answer[2]),
        tokensUntil: answer[3] as number,
        othersWait: answer[4] > 0,
      };
    case 'contended':
      return { status: 'contended', rest: answer[1] };
    case 'queued':
      return { status: 'queued', rest: answer[1], heard: answer[3] === 'heard' };
    case 'late':
      return { status: 'late' };
    default:
      throw new Error(`the acquire script answered ${JSON.stringify(reply)}`);
  }
}

export function decodeRelease(reply: unknown): ReleaseReply {
  if (reply === 'released' || reply === 'cancelled' || reply === 'absent') return reply;
  throw new Error(`the release script answered ${JSON.stringify(reply)}`);
}

type RenewAnswer = 'lost' | readonly ['failed', string] | readonly [rest: number, tokensUntil: number, waiters: number];

export function decodeRenew(reply: unknown): { readonly now: number; readonly holds: readonly RenewAnswer[] } {
  const [now, ...holds] = reply as [number, ...RenewAnswer[]];
  return { now, holds };
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
