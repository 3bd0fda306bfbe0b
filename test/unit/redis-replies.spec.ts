import { describe, expect, it } from '@jest/globals';
import { decodeAcquire, UnexpectedReply } from '../../lib/backends/redis/replies.js';
import { newClaimId, newClientId } from '../../lib/core/claim-id.js';
import { exclusive } from '../../lib/core/lock-backend.js';

const request = {
  ...{ ...exclusive, name: 'a', id: 'x:0', lease: 1_000, reserve: 0, enqueue: true, again: false, giveUpAt: 0 },
  isWanted: () => true,
};
const decode = (reply: unknown) => decodeAcquire(reply, request, 0);
const id = 'abc.web-1.7:0.secret:A.b';
const queued = { status: 'queued', rest: 500 };
const holder = { id, fencingToken: 1_795_000_000_000_000, heldFor: 20 };

describe('the reply to a claim that does not get the lock', () => {
  it.each([
    ['contended 500', { status: 'contended', leaseLeft: 500, holder: undefined }],
    [`contended 0 ${id} 1795000000000000 20`, { status: 'contended', leaseLeft: 0, holder }],
    ['queued 500 polling', { ...queued, listening: false, yields: false, holder: undefined }],
    [`queued 500 listening ${id} 1795000000000000 20`, { ...queued, listening: true, yields: false, holder }],
    [`queued 500 yielding ${id} 1795000000000000 20`, { ...queued, listening: true, yields: true, holder }],
  ])('is decoded: %s', (reply, answer) => {
    expect(decode(reply)).toEqual(answer);
  });

  it.each([
    ...['contended', 'contended ', 'contended x', 'contended -1', 'contended 1.5', 'contended 500 '],
    ...[`contended 500 ${id}`, `contended 500 ${id} 17`, `contended 500 ${id} 17 -1`, `contended 500 ${id} 17 1 1`],
    ...['queued 500', 'queued 500 hoping', 'queued listening', `queued 500 ${id} 17 1`, `queued 500 polling ${id} x 1`],
  ])('is refused when a word is wrong: %s', (reply) => {
    expect(() => decode(reply)).toThrow(UnexpectedReply);
  });
});

describe('an unexpected reply', () => {
  it('shows no claim: its id gives access to the lock', () => {
    const claim = newClaimId(newClientId(), 7, ':Report.daily');
    const [, random, secret] = /^([\w-]{22})\..*:7\.([\w-]{11}):/.exec(claim)!;
    for (const reply of [`contended 5 ${claim} 17 x`, [1, `queued ${claim}`, claim], { claim }]) {
      const { message } = new UnexpectedReply('acquire', reply);
      for (const part of [random, secret]) expect(message).not.toContain(part);
      expect(message).toContain('(claim)');
    }
    expect(new UnexpectedReply('acquire', ['ten seconds 0']).message).toContain('ten seconds 0');
  });
});
