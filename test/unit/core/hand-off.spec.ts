import { describe, expect, it } from '@jest/globals';
import type { RenewReply } from '../../../lib/core/lock-backend.js';
import { deferred } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient } from './virtual-client.js';

const fixed = { lease: 10_000 };
/** What is certain of a lease of 10 s right after its confirmation. */
const whole = 10_000 - 10 - 2;

/** Callers of one process for one name, with fixed leases; the second one is the first that has tokens in hand. */
async function callersOf(v: VirtualClient, count: number) {
  const callers = Array.from({ length: count }, () => v.acquire('a', fixed));
  const first = await callers[0]!;
  await first.release();
  return callers.slice(1);
}

describe('a lock that is passed on inside a process', () => {
  it('gets its whole lease even if a renewal of the claim before is still pending', async () => {
    const v = new VirtualClient();
    v.backend.tokensInHand = 1;
    const [second, third, fourth, fifth] = await callersOf(v, 5);
    const answer = deferred<RenewReply[]>();
    v.backend.onRenew = () => answer.promise;
    await (await second!).release();
    // No token is left: the next claim begins, and passes on.
    await (await third!).release();
    const holder = await fourth!;
    await v.clock.advance(4_000);
    v.backend.onRenew = (holds) => holds.map(({ lease }) => v.backend.renewal(lease));
    await holder.release();
    const last = await fifth!;
    await settled();
    expect(last.leaseLeft).toBe(whole);
    answer.resolve(['unanswered']);
    await v.clock.advance(9_900);
    expect(last.isHeld).toBe(true);
  });

  it('gets its whole lease even if the backend refuses renewals for a moment', async () => {
    const v = new VirtualClient();
    const [second, third] = await callersOf(v, 3);
    await second!;
    await v.clock.advance(4_000);
    v.backend.onRenew = (holds) => holds.map(() => 'unanswered');
    await (await second!).release();
    const last = await third!;
    await v.clock.advance(100);
    v.backend.onRenew = (holds) => holds.map(({ lease }) => v.backend.renewal(lease));
    // Up to the requested end, not beyond.
    await v.clock.advance(9_800);
    expect(last.isHeld).toBe(true);
    expect(last.leaseLeft).toBeLessThanOrEqual(100);
  });

  it('gets its whole lease even if the reply to its renewal came for the caller before', async () => {
    const v = new VirtualClient();
    const [second, third, fourth] = await callersOf(v, 4);
    await second!;
    await v.clock.advance(2_000);
    const answers = [deferred<RenewReply[]>(), deferred<RenewReply[]>()];
    let asked = 0;
    v.backend.onRenew = () => answers[asked++]!.promise;
    await (await second!).release();
    await v.clock.advance(2_000);
    await (await third!).release();
    const last = await fourth!;
    // Sent for the third caller, and 8 s long by now.
    answers[0]!.resolve([v.backend.renewal(8_000)]);
    await settled();
    expect(asked).toBe(2);
    answers[1]!.resolve([v.backend.renewal(10_000)]);
    await settled();
    expect(last.leaseLeft).toBe(whole);
  });

  it('costs one renewal at a time, for any number of callers that pass it on', async () => {
    const v = new VirtualClient();
    const callers = await callersOf(v, 12);
    const answer = deferred<RenewReply[]>();
    v.backend.onRenew = () => answer.promise;
    for (const caller of callers.slice(0, 10)) await (await caller).release();
    expect(v.backend.renewed).toHaveLength(1);
    answer.resolve([v.backend.renewal(10_000)]);
    await settled();
    expect(v.backend.renewed).toHaveLength(2);
  });
});
