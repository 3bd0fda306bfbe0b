import type { ReleaseReply } from '../../core/lock-backend.js';

/** What the scripts answer (their REPLY headers), decoded. Server times in µs, lengths in ms. */
export type AcquireAnswer =
  | {
      readonly status: 'granted';
      readonly now: number;
      readonly fencingToken: number;
      readonly lease: number;
      readonly tokensUntil: number;
      readonly waiters: number;
    }
  | { readonly status: 'contended'; readonly now: number; readonly rest: number }
  | { readonly status: 'queued'; readonly now: number; readonly rest: number; readonly heard: boolean }
  | { readonly status: 'late'; readonly now: number };

export function decodeAcquire(reply: unknown): AcquireAnswer {
  const answer = reply as readonly [string, number, number, number, number | string, number];
  const [status, now] = answer;
  switch (status) {
    case 'granted':
      return {
        status,
        now,
        fencingToken: answer[2],
        lease: answer[3],
        tokensUntil: answer[4] as number,
        waiters: answer[5],
      };
    case 'contended':
      return { status, now, rest: answer[2] };
    case 'queued':
      return { status, now, rest: answer[2], heard: answer[4] === 'heard' };
    case 'late':
      return { status, now };
    default:
      throw new Error(`the acquire script answered ${JSON.stringify(reply)}`);
  }
}

export function decodeRelease(reply: unknown): ReleaseReply {
  if (reply === 'released' || reply === 'cancelled' || reply === 'absent') return reply;
  throw new Error(`the release script answered ${JSON.stringify(reply)}`);
}

type RenewAnswer = readonly [rest: number, tokensUntil: number, waiters: number] | 'lost';

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
