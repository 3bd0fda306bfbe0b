import { describe, expect, it } from '@jest/globals';
import { callerSuffix, newClaimId } from '../../../lib/core/claim-id.js';
import type { AcquireReply, AdoptReply } from '../../../lib/core/lock-backend.js';
import { lockDefaults, resolveAdoption } from '../../../lib/core/options.js';
import { readTicket, type TicketContent, writeTicket } from '../../../lib/core/ticket.js';
import { LockUnavailableError } from '../../../lib/errors/lock-errors.js';
import { deferred, unanswered } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient, watch } from './virtual-client.js';

const content: TicketContent = {
  kind: 'exclusive',
  permits: 1,
  limit: 0,
  holds: [{ name: 'a', claim: 'abc.host.1:0:A.b', fencingToken: 1_795_000_000_000_000 }],
};
const adopt = (v: VirtualClient, options = {}) => v.client.adopt(content, resolveAdoption(options, lockDefaults));

describe('an adoption', () => {
  it('whose reply is lost is sent again with the same claim, and nothing is released', async () => {
    const v = new VirtualClient();
    const replies: Array<() => AdoptReply> = [
      () => {
        throw unanswered();
      },
      () => {
        throw new LockUnavailableError('away');
      },
      () => ({ validUntil: v.clock.now() + 5_000 }),
    ];
    v.backend.onAdopt = () => replies.shift()!();
    const adopted = adopt(v);
    await v.clock.advance(500);
    const lock = await adopted;
    expect(lock).toMatchObject({ key: 'a', isHeld: true, fencingToken: content.holds[0]!.fencingToken });
    expect(v.backend.adopted).toHaveLength(3);
    expect(new Set(v.backend.adopted.map(({ id: claim }) => claim)).size).toBe(1);
    expect(v.backend.released).toEqual([]);
    await lock.release();
    expect(v.backend.released).toEqual([{ name: 'a', id: v.backend.adopted[0]!.id }]);
    expect(v.clock.pending).toBe(0);
  });

  it('without a reply for `wait` rejects, and is released at once and when it can no longer arrive late', async () => {
    const v = new VirtualClient();
    v.backend.onAdopt = () => {
      throw unanswered();
    };
    const adopted = watch(adopt(v, { wait: 250 }));
    await v.clock.advance(250);
    expect(adopted).toMatchObject({ state: 'rejected', reason: { code: 'LOCK_UNAVAILABLE', uncertain: true } });
    expect(v.backend.released).toHaveLength(1);
    await v.clock.advance(10_000);
    expect(v.backend.released).toHaveLength(2);
    expect(new Set(v.backend.released.map(({ id: claim }) => claim))).toEqual(new Set([v.backend.adopted[0]!.id]));
    expect(v.clock.pending).toBe(0);
  });

  it('that was certainly not executed is given up without a release', async () => {
    const v = new VirtualClient();
    v.backend.onAdopt = () => {
      throw new LockUnavailableError('away');
    };
    const adopted = watch(adopt(v, { wait: 250 }));
    await v.clock.advance(10_000);
    expect(adopted).toMatchObject({ state: 'rejected', reason: { code: 'LOCK_UNAVAILABLE' } });
    expect(v.backend.released).toEqual([]);
    expect(v.clock.pending).toBe(0);
  });

  it.each(['gone', 'taken'] as const)('that comes too late (%s) holds nothing and releases nothing', async (reply) => {
    const v = new VirtualClient();
    v.backend.onAdopt = () => reply;
    const reason = reply === 'gone' ? 'expired' : 'adopted';
    await expect(adopt(v)).rejects.toMatchObject({ code: 'LOCK_LOST', reason, key: 'a' });
    expect(v.backend.released).toEqual([]);
    expect(v.clock.pending).toBe(0);
  });

  it('whose lease ended before its reply arrived is refused, and the shutdown does not wait for it', async () => {
    const v = new VirtualClient();
    v.backend.onAdopt = () => ({ validUntil: v.clock.now() });
    await expect(adopt(v)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(v.backend.released).toHaveLength(1);
    const shutdown = watch(v.client.shutdown(60_000));
    await settled();
    expect(shutdown.state).toBe('resolved');
  });

  it('is refused once the client is shut down, also between two tries', async () => {
    const v = new VirtualClient();
    v.backend.onAdopt = () => {
      throw unanswered();
    };
    const trying = watch(adopt(v));
    await settled();
    await v.client.shutdown(0);
    await v.clock.advance(1_000);
    expect(trying).toMatchObject({ state: 'rejected', reason: { code: 'LOCK_UNAVAILABLE' } });
    const { length } = v.backend.adopted;
    await expect(adopt(v)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(v.backend.adopted).toHaveLength(length);
  });

  it('that is pending at the shutdown is released before the connections end, and rejects', async () => {
    const v = new VirtualClient();
    const answer = deferred<AdoptReply>();
    v.backend.onAdopt = () => answer.promise;
    const adopted = watch(adopt(v));
    await settled();
    const end = watch(v.client.shutdown(1_000));
    await v.clock.advance(100);
    expect([end.state, v.backend.closed]).toEqual(['pending', false]);
    answer.resolve({ validUntil: v.clock.now() + 300_000 });
    await v.clock.advance(0);
    expect(adopted).toMatchObject({ state: 'rejected', reason: { code: 'LOCK_UNAVAILABLE' } });
    expect(v.backend.released).toEqual([{ name: 'a', id: v.backend.adopted[0]!.id }]);
    expect([end.state, v.backend.closed]).toEqual(['resolved', true]);
    expect(v.clock.pending).toBe(0);
  });

  it('ends at maxHold like any hold, and is released when its work ends', async () => {
    const v = new VirtualClient();
    const lock = await adopt(v, { lease: 900, renew: true, maxHold: 2_000 });
    await v.clock.advance(2_000);
    expect(lock.signal.reason).toMatchObject({ reason: 'max-hold' });
    expect(v.backend.released).toEqual([]);
    await lock.release();
    expect(v.backend.released).toHaveLength(1);
  });
});

describe('a hold that was exported', () => {
  it('stays held when the export gets no reply, and is lost when the backend says so', async () => {
    const v = new VirtualClient();
    const lock = await v.acquire('a');
    v.backend.onRenew = () => ['unanswered'];
    await expect(lock.export()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    expect(lock.isHeld).toBe(true);
    v.backend.onRenew = () => ['lost'];
    await expect(lock.export()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });

  it('is not exported when it was released, exported or re-entered while the request was pending', async () => {
    const v = new VirtualClient();
    const answers = [deferred<void>(), deferred<void>(), deferred<void>()];
    let asked = 0;
    v.backend.onRenew = async (holds) => {
      await answers[asked++]!.promise;
      return holds.map(({ lease }) => v.backend.renewal(lease));
    };
    const scope = await v.enter('a');
    const exporting = watch(scope.lock.export());
    const inner = await scope.run(() => v.acquire('a'));
    answers[0]!.resolve();
    await settled();
    expect(exporting).toMatchObject({ state: 'rejected', reason: { code: 'LOCK_CONFIGURATION' } });
    await inner.release();
    const twice = [watch(scope.lock.export()), watch(scope.lock.export())];
    answers[1]!.resolve();
    answers[2]!.resolve();
    await settled();
    expect(twice.map(({ state }) => state)).toEqual(['resolved', 'rejected']);
    expect(twice[1]!.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'exported' });
    expect(v.backend.released).toEqual([]);
  });

  it('is not released by late events of its claim: a message, or an acquire that fails late', async () => {
    const v = new VirtualClient();
    const late = deferred<AcquireReply>();
    const another = await v.acquire('b');
    v.letWait();
    const waiting = v.acquire('a', { wait: '1m' });
    await settled();
    // Asks again, and is granted by a message while that acquire is pending.
    v.backend.onAcquire = () => late.promise;
    v.backend.events.recovered('messages');
    await settled();
    v.push();
    const lock = await waiting;
    const ticket = await lock.export();
    await v.clock.advance(1);
    await another.export();
    v.push();
    late.reject(unanswered());
    await settled();
    await v.clock.advance(1_000);
    expect(v.backend.released).toEqual([]);
    expect(readTicket(ticket).holds).toEqual([
      { name: 'a', claim: v.backend.acquired.at(-1)!.id, fencingToken: lock.fencingToken },
    ]);
    // Its lease is over: a grant that now comes for that claim is released as usual.
    await v.clock.advance(120_000);
    const left = v.backend.acquired.at(-1)!;
    v.backend.onAcquire = (request) => v.backend.grant(request.lease);
    await (await v.acquire('c')).export();
    v.push({ claim: left });
    await settled();
    expect(v.backend.released.at(-1)).toMatchObject({ name: 'a', id: left.id });
  });

  it('does not keep its client from shutting down, and leaves no timer', async () => {
    const v = new VirtualClient();
    await (await v.acquire('a')).export();
    expect(v.clock.pending).toBe(0);
    await v.client.shutdown(60_000);
    expect(v.backend.released).toEqual([]);
  });
});

describe('a ticket', () => {
  it('is one word of text that can be read back', () => {
    const ticket = writeTicket(content);
    expect(ticket).toMatch(/^lock-ticket:1:[\w-]+$/);
    expect(readTicket(ticket)).toEqual(content);
    const holds = ['a', 'b', 'ü:{}'].map((name, index) => ({ ...content.holds[0]!, name, fencingToken: index + 1 }));
    const permits: TicketContent = { kind: 'permits', permits: 2, limit: 5, holds };
    expect(readTicket(writeTicket(permits))).toEqual(permits);
  });

  it('has room for all names and claims at their longest', () => {
    const client = `${'r'.repeat(22)}.${'h'.repeat(63)}.4194304`;
    const claim = newClaimId(client, Number.MAX_SAFE_INTEGER, callerSuffix('m'.repeat(200), '日'.repeat(100)));
    // JSON writes six characters for one byte of such a name.
    const holds = Array.from({ length: 250 }, (_, index) => {
      return { name: String(index).padStart(1_024, '\u0001'), claim, fencingToken: Number.MAX_SAFE_INTEGER };
    });
    const longest: TicketContent = { ...content, holds };
    expect(readTicket(writeTicket(longest))).toEqual(longest);
  });

  it('is refused when it is invalid, cut or changed, and is not shown in the error', () => {
    const ticket = writeTicket(content);
    const made = (value: unknown) => `lock-ticket:1:${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
    const hold = ['a', 'c.h.1:0', 1];
    for (const wrong of [
      ...[undefined, null, 7, {}, [], ticket.split('')],
      ...['', 'lock-ticket:', 'lock-ticket:1:', 'lock-ticket:2:abc', ` ${ticket}`, `${ticket} `, `${ticket}=`],
      ...[ticket.slice(0, -1), ticket.slice(0, -4), `${ticket}A`, ticket.replace('1:', '1:e')],
      ...[made({}), made([]), made(['exclusive', 1, 0]), made(['all', 1, 0, hold]), made(['exclusive', 0, 0, hold])],
      ...[made(['exclusive', 1, -1, hold]), made(['exclusive', 1, 0, hold, hold]), made(['exclusive', 1, 0, 'a'])],
      ...[
        ['', 'c:0', 1],
        ['a', 'c 0', 1],
        ['a', 'c', 1],
        ['a', 'c:0 x', 1],
        ['a', 'c:0', 0],
        ['a', 'c:0', 1.5],
      ].map((part) => made(['exclusive', 1, 0, part])),
      ...[
        ['a', 'c:0', '1'],
        ['a', 'c:0', 1, 2],
        [7, 'c:0', 1],
        ['x'.repeat(1025), 'c:0', 1],
      ].map((part) => made(['exclusive', 1, 0, part])),
      made(['exclusive', 1, 0, ...Array.from({ length: 251 }, (_, index) => [`n${100 + index}`, 'c:0', 1])]),
      `lock-ticket:1:${'A'.repeat(3_000_000)}`,
    ]) {
      let thrown: unknown;
      try {
        readTicket(wrong);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(/^ticket: /) });
      expect((thrown as Error).message.length).toBeLessThan(200);
    }
  });

  it('is checked, with the options, before anything is sent', () => {
    expect(() => resolveAdoption({ minHold: 5 } as object, lockDefaults)).toThrow(
      expect.objectContaining({ code: 'LOCK_CONFIGURATION' }),
    );
    expect(resolveAdoption(undefined, lockDefaults)).toBe(lockDefaults);
    expect(resolveAdoption({ lease: '5s' }, lockDefaults)).toMatchObject({ lease: 5_000, renew: false });
  });
});
