import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ClaimRef } from '../../lib/core/lock-backend.js';
import type { LockPlace, PlaceOptions } from './lock-place.js';
import { type Held, Party } from './party.js';

/** What every LockBackend must guarantee, asked at the port. */
export function lockBackendConformance(open: () => Promise<LockPlace>): void {
  let place: LockPlace;
  const parties: Party[] = [];

  const join = async (options?: PlaceOptions): Promise<Party> => {
    const party = new Party(place.backend(options));
    parties.push(party);
    return party.start();
  };
  const joinHearing = async (options?: PlaceOptions): Promise<Party> => (await join(options)).reachable();
  const unique = (): string => `conformance:${randomUUID()}`;

  beforeAll(async () => {
    place = await open();
  });
  afterEach(async () => {
    await Promise.all(parties.splice(0).map((party) => party.backend.close()));
  });
  afterAll(() => place.close());

  describe('mutual exclusion (G1)', () => {
    it('grants a free lock to whoever asks, and to nobody else while it is held', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.take(name);
      for (const party of [a, b]) {
        expect(await party.ask(party.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      }
    });

    it('grants one of many who ask at once', async () => {
      const all = await Promise.all(Array.from({ length: 4 }, () => join()));
      const name = unique();
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const party = all[index % all.length]!;
          return party.ask(party.claim(name), { enqueue: false });
        }),
      );
      expect(replies.filter(({ status }) => status === 'granted')).toHaveLength(1);
      expect(replies.filter(({ status }) => status === 'contended')).toHaveLength(39);
    });

    it('keeps every lock name apart, whatever stands in it', async () => {
      const a = await join();
      const root = unique();
      const names = [
        '',
        ' ',
        ':queue',
        '}',
        '{',
        '{x}',
        '}:queue',
        '\r\n',
        '\0',
        '%7D',
        'é',
        '🎟️',
        '1',
        '01',
        'x'.repeat(900),
      ];
      for (const end of names) await expect(a.take(root + end)).resolves.toBeDefined();
    });

    it('says contended, with the rest of the lease, to whoever does not want to wait', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.take(name, { lease: 10_000 });
      const reply = await b.ask(b.claim(name), { enqueue: false });
      if (reply.status !== 'contended') throw new Error(reply.status);
      expect(reply.rest).toBeGreaterThan(0);
      expect(reply.rest).toBeLessThanOrEqual(10_000);
    });

    it('keeps no place for whoever did not want to wait', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const holder = await a.take(name);
      await b.ask(b.claim(name), { enqueue: false });
      await a.release(holder);
      await c.take(name, { enqueue: false });
    });
  });

  describe('validUntil (G2)', () => {
    /** The next holder, at the first moment at which there can be one. */
    const next = async (party: Party, name: string): Promise<number> => {
      for (;;) {
        const reply = await party.ask(party.claim(name), { enqueue: false, lease: 20 });
        if (reply.status === 'granted') return performance.now();
      }
    };

    it('is over before anybody else can be granted the lock', async () => {
      const [a, b] = [await join(), await join()];
      for (let round = 0; round < 8; round++) {
        const name = unique();
        const { validUntil } = await a.take(name, { lease: 15 + round });
        expect(await next(b, name)).toBeGreaterThan(validUntil);
      }
    });

    it('is over before anybody else can be granted the lock, also when it was renewed', async () => {
      const [a, b] = [await join(), await join()];
      for (let round = 0; round < 5; round++) {
        const name = unique();
        const validUntil = await a.renew(await a.take(name, { lease: 10_000 }), 10_050);
        if (typeof validUntil !== 'number') throw new Error(validUntil);
        const short = unique();
        const renewed = await a.renew(await a.take(short, { lease: 15 }), 20 + round);
        if (typeof renewed !== 'number') continue; // the short lease was over already: nothing to compare
        expect(await next(b, short)).toBeGreaterThan(renewed);
      }
    });

    it('of a pushed grant is over before anybody else can be granted the lock', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const holder = await a.take(name);
      const waiter = await b.queue(name, { lease: 400 });
      await a.release(holder);
      const { validUntil } = await b.pushed(waiter);
      expect(validUntil).toBeDefined();
      const other = await c.untilGranted(c.claim(name));
      expect(performance.now()).toBeGreaterThan(validUntil!);
      expect(other.fencingToken).toBeGreaterThan(0);
    });

    it('never lies further away than the lease that was asked for', async () => {
      const a = await join();
      const { validUntil } = await a.take(unique(), { lease: 5_000 });
      expect(validUntil - performance.now()).toBeLessThan(5_000);
    });
  });

  describe('fencing tokens (G3)', () => {
    it('are safe integers and increase from holder to holder over release, expiry, cancel and hand-off', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const tokens: number[] = [];
      const released = await a.take(name);
      tokens.push(released.fencingToken);
      await a.release(released);

      tokens.push((await a.take(name, { lease: 20 })).fencingToken);
      const afterExpiry = await b.untilGranted(b.claim(name));
      tokens.push(afterExpiry.fencingToken);

      const cancelled = await a.queue(name);
      await a.release(cancelled);
      await b.release(afterExpiry);
      const afterCancel = await a.take(name);
      tokens.push(afterCancel.fencingToken);

      const waiter = await b.queue(name);
      await a.release(afterCancel);
      const handedOver = await b.pushed(waiter);
      tokens.push(handedOver.fencingToken);
      await b.release(waiter);
      tokens.push((await a.take(name)).fencingToken);

      expect(tokens.every((token) => Number.isSafeInteger(token))).toBe(true);
      expect(tokens).toEqual([...new Set(tokens)].sort((x, y) => x - y));
    });

    it('that were reserved for local hand-offs are never granted to anybody else', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const first = await a.take(name, { reserve: 100 });
      expect(first.tokensUntil).toBeGreaterThanOrEqual(first.fencingToken + 100);
      const waiter = await b.queue(name, { reserve: 100 });
      await a.release(first);
      const second = await b.pushed(waiter);
      expect(second.fencingToken).toBeGreaterThan(first.tokensUntil);
      expect(second.tokensUntil).toBeGreaterThanOrEqual(second.fencingToken + 100);
      // The holder gave out tokens on its own, and shows the last of them; a renewal reserves the next block.
      const given = { ...waiter, fencingToken: second.tokensUntil };
      const [renewed] = await b.backend.renew([{ ...given, lease: 20_000, reserve: 100 }]);
      if (typeof renewed !== 'object') throw new Error(renewed);
      expect(renewed.tokensUntil).toBeGreaterThanOrEqual(given.fencingToken + 100);
      await b.release(waiter);
      expect((await a.take(name)).fencingToken).toBeGreaterThan(renewed.tokensUntil);
    });

    it('increase over many quick cycles of several clients', async () => {
      const all = await Promise.all(Array.from({ length: 3 }, () => join()));
      const name = unique();
      let last = 0;
      for (let cycle = 0; cycle < 60; cycle++) {
        const party = all[cycle % all.length]!;
        const holder = await party.take(name);
        expect(holder.fencingToken).toBeGreaterThan(last);
        last = holder.fencingToken;
        await party.release(holder);
      }
    });
  });

  describe('the queue (G4)', () => {
    it('hands a released lock to the waiters in order of arrival', async () => {
      const all = await Promise.all(Array.from({ length: 4 }, () => joinHearing()));
      const name = unique();
      const holder = await all[0]!.take(name);
      const waiters = [];
      for (const party of [all[2]!, all[1]!, all[3]!, all[1]!]) waiters.push({ party, claim: await party.queue(name) });
      await all[0]!.release(holder);
      let last = holder.fencingToken;
      for (const { party, claim } of waiters) {
        const { fencingToken } = await party.pushed(claim);
        expect(fencingToken).toBeGreaterThan(last);
        last = fencingToken;
        await party.release(claim);
      }
      expect(all.flatMap(({ grants }) => grants).filter((grant) => grant.name === name)).toHaveLength(4);
    });

    it('pushes the grant, with its name, claim and token, in the same step as the release', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = `${unique()} {a}:b\r\n🎟️`;
      const holder = await a.take(name);
      const waiter = await b.queue(name);
      expect(await a.release(holder)).toBe('released');
      expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      const grant = await b.pushed(waiter);
      expect(grant).toMatchObject(waiter);
      expect(grant.validUntil! - performance.now()).toBeLessThan(b.backend.claimWindow);
    });

    it('lets no newcomer overtake a waiter, neither one who waits nor one who tries', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const waiter = await b.queue(name);
      await a.release(holder);
      expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      const newcomer = await c.queue(name);
      await b.pushed(waiter);
      expect(c.grants.filter((grant) => grant.name === name)).toEqual([]);
      await b.release(waiter);
      await c.pushed(newcomer);
    });

    it('lets no newcomer overtake a waiter when the lease of the holder ran out', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      await a.take(name, { lease: 250 });
      const waiter = await b.queue(name);
      // The newcomer asks on and on; the first question after the end of the lease serves the waiter.
      for (let served = false; !served; served = b.grants.some(({ claim }) => claim === waiter.claim)) {
        expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      }
    });

    it('forgets a waiter that is cancelled, and the ones behind it move up', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await b.queue(name);
      const second = await c.queue(name);
      expect(await b.release(first)).toBe('cancelled');
      await a.release(holder);
      await c.pushed(second);
      expect(b.grants.filter(({ claim }) => claim === first.claim)).toEqual([]);
    });

    it('is told to the holder: whether others wait', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      expect(holder.othersWait).toBe(false);
      const outlook = async (): Promise<unknown> =>
        (await a.backend.renew([{ ...holder, lease: 20_000, reserve: 1 }]))[0];
      expect(await outlook()).toMatchObject({ othersWait: false });
      const waiter = await b.queue(name);
      expect(await outlook()).toMatchObject({ othersWait: true });
      await b.release(waiter);
      expect(await outlook()).toMatchObject({ othersWait: false });
    });

    it('is left empty by a cancel: the released lock is free', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      await b.release(await b.queue(name));
      await a.release(holder);
      await a.take(name, { enqueue: false });
    });

    it('skips a waiter whose process died, in the same hand-off', async () => {
      const [a, dead, b] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      await dead.queue(name);
      const alive = await b.queue(name);
      // It was told once that it can be called, then it dies.
      await place.crash(dead.backend, dead.id);
      await a.release(holder);
      expect(await b.ask(alive)).toMatchObject({ status: 'granted' });
    });

    it('counts a waiter as dead that has not asked again for longer than twice `poll`', async () => {
      const [a, silent, b] = [await join(), await joinHearing({ poll: 100, commandTimeout: 300 }), await join()];
      const name = unique();
      const patience = 2 * silent.backend.poll + silent.backend.commandTimeout;
      await a.take(name, { lease: patience + 100 });
      const forgotten = await silent.queue(name);
      const alive = b.claim(name);
      await b.untilGranted(alive);
      expect(silent.grants.filter(({ claim }) => claim === forgotten.claim)).toEqual([]);
    });
  });

  describe('a waiter that no message reaches', () => {
    it('is granted a released lock all the same, and learns it by asking', async () => {
      const [a, deaf, c] = [await join(), await join({ deaf: true }), await join()];
      const name = unique();
      const holder = await a.take(name);
      const waiter = await deaf.queue(name);
      await a.release(holder);
      expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      expect(await deaf.ask(waiter)).toMatchObject({ status: 'granted' });
    });

    it('is passed over when it missed its turn, and keeps its place', async () => {
      const [a, deaf, b, c] = [await join(), await join({ deaf: true }), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const missing = await deaf.queue(name, { lease: 60 });
      const second = await b.queue(name);
      const third = await c.queue(name);
      // Granted to the deaf one, which does not ask; when that has lapsed, the next one is served.
      await a.release(holder);
      const served = await b.untilGranted(second);
      // Now it asks, and stands where it stood.
      expect(await deaf.ask(missing)).toMatchObject({ status: 'queued' });
      await b.release(served);
      expect(await deaf.ask(missing)).toMatchObject({ status: 'granted' });
      expect(c.grants.filter(({ claim }) => claim === third.claim)).toEqual([]);
    });

    it('is not called twice in a row without having asked', async () => {
      const [a, deaf, b, c] = [await join(), await join({ deaf: true }), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      await deaf.queue(name, { lease: 60 });
      const second = await b.queue(name);
      const third = await c.queue(name);
      await a.release(holder);
      await b.release(await b.untilGranted(second));
      // Served at once: nobody waits for the deaf one a second time.
      expect(await c.ask(third)).toMatchObject({ status: 'granted' });
    });
  });

  describe('a pushed grant', () => {
    /** `b` was sent the lock a moment ago; others stand behind it in the queue. */
    const handOver = async (
      lease: number,
      ...behind: Party[]
    ): Promise<{ name: string; b: Party; waiter: Held; others: ClaimRef[] }> => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const claim = await b.queue(name, { lease });
      const others: ClaimRef[] = [];
      for (const party of behind) others.push(await party.queue(name));
      await a.release(holder);
      const { fencingToken, validUntil, tokensUntil } = await b.pushed(claim);
      return {
        name,
        b,
        waiter: { ...claim, fencingToken, validUntil: validUntil!, tokensUntil, othersWait: false },
        others,
      };
    };

    it('is provisional: it lapses unless it is confirmed, and its claim waits on at its old place', async () => {
      const [c, d] = [await joinHearing(), await joinHearing()];
      const { b, waiter, others } = await handOver(80, c, d);
      const [behind, last] = others;
      const other = await c.untilGranted(behind!);
      expect(other.fencingToken).toBeGreaterThan(waiter.fencingToken);
      expect(await b.renew(waiter)).toBe('lost');
      expect(await b.ask(waiter)).toMatchObject({ status: 'queued' });
      await c.release(other);
      expect(await b.ask(waiter)).toMatchObject({ status: 'granted' });
      expect(d.grants.filter(({ claim }) => claim === last!.claim)).toEqual([]);
    });

    it('lasts its full lease once it was confirmed by a renewal', async () => {
      const { b, waiter } = await handOver(20_000);
      const confirmed = await b.renew(waiter, 20_000);
      expect(confirmed).toBeGreaterThan(waiter.validUntil + 20_000 - 2 * b.backend.claimWindow);
      expect(await b.ask(waiter)).toMatchObject({ status: 'granted', fencingToken: waiter.fencingToken });
    });

    it('lasts its full lease once its claim has fetched it by asking, with the same token', async () => {
      const { b, waiter } = await handOver(20_000);
      const reply = await b.ask(waiter, { lease: 20_000 });
      expect(reply).toMatchObject({ status: 'granted', fencingToken: waiter.fencingToken });
      if (reply.status === 'granted') expect(reply.validUntil).toBeGreaterThan(waiter.validUntil + 10_000);
    });

    it('leaves the queue with its confirmation: after the lease its claim is nobody', async () => {
      const { name, b, waiter } = await handOver(300);
      expect(await b.renew(waiter, 310)).not.toBe('unanswered');
      const c = await join();
      const other = await c.untilGranted(c.claim(name));
      expect(await b.release(waiter)).toBe('absent');
      await c.release(other);
      await c.take(name, { enqueue: false });
    });

    it('that is released unconfirmed goes to the next waiter', async () => {
      const c = await joinHearing();
      const { b, waiter, others } = await handOver(20_000, c);
      expect(await b.release(waiter)).toBe('released');
      await c.pushed(others[0]!);
    });
  });

  describe('repeated calls (G6)', () => {
    it('acquire of a holder answers the same grant again, not a longer one', async () => {
      const a = await join();
      const first = await a.take(unique(), { lease: 5_000 });
      const again = await a.ask(first, { lease: 20_000 });
      expect(again).toMatchObject({ status: 'granted', fencingToken: first.fencingToken });
      // Both bounds are of one lease; they differ by what the two round trips took, and by rounding.
      if (again.status === 'granted') expect(again.validUntil).toBeLessThan(performance.now() + 5_000);
    });

    it('acquire of a waiter keeps its place', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await b.queue(name);
      const second = await c.queue(name);
      for (let times = 0; times < 3; times++) await b.ask(first);
      await a.release(holder);
      await b.pushed(first);
      await b.release(first);
      await c.pushed(second);
      expect(b.grants.filter((grant) => grant.name === name)).toHaveLength(1);
    });

    it('release says so and changes nothing', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name);
      expect(await a.release(holder)).toBe('released');
      expect(await a.release(holder)).toBe('absent');
      const next = await b.take(name);
      expect(await a.release(holder)).toBe('absent');
      expect(await b.renew(next)).toEqual(expect.any(Number));
    });

    it('release of a waiter says so and changes nothing', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await b.queue(name);
      const second = await c.queue(name);
      expect(await b.release(first)).toBe('cancelled');
      expect(await b.release(first)).toBe('absent');
      await a.release(holder);
      await c.pushed(second);
    });

    it('renew answers a bound of the same lease, and never brings the end forward', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name, { lease: 20_000 });
      const before = performance.now();
      expect(await a.renew(holder, 50)).toBeGreaterThan(before + 15_000);
      expect(await a.renew(holder, 50)).toBeGreaterThan(before + 15_000);
      const reply = await b.ask(b.claim(name), { enqueue: false });
      if (reply.status === 'contended') expect(reply.rest).toBeGreaterThan(15_000);
      expect(reply.status).toBe('contended');
    });

    it('acquire after a release of the same claim takes the lock anew, with a larger token', async () => {
      const a = await join();
      const first = await a.take(unique());
      await a.release(first);
      const reply = await a.ask(first);
      expect(reply).toMatchObject({ status: 'granted' });
      if (reply.status === 'granted') expect(reply.fencingToken).toBeGreaterThan(first.fencingToken);
    });
  });

  describe('a stale holder (G7)', () => {
    /** `old` held the lock, its lease ran out, `next` holds it, `waiting` stands behind. */
    const stale = async () => {
      const [a, b, c] = [await join(), await join(), await joinHearing()];
      const name = unique();
      const old = await a.take(name, { lease: 15 });
      const next = await b.untilGranted(b.claim(name));
      const waiting = await c.queue(name);
      return { name, a, b, c, old, next, waiting };
    };

    it('releases nothing', async () => {
      const { a, b, c, old, next, waiting } = await stale();
      expect(await a.release(old)).toBe('absent');
      expect(await b.renew(next)).toEqual(expect.any(Number));
      expect(c.grants.filter(({ claim }) => claim === waiting.claim)).toEqual([]);
    });

    it('renews nothing', async () => {
      const { a, b, old, next } = await stale();
      expect(await a.renew(old)).toBe('lost');
      expect(await b.ask(next)).toMatchObject({ status: 'granted', fencingToken: next.fencingToken });
    });

    it('renews nothing with the token of its former grant, though the same claim holds again', async () => {
      const a = await join();
      const name = unique();
      const old = await a.take(name);
      await a.release(old);
      expect(await a.ask(old)).toMatchObject({ status: 'granted' });
      expect(await a.renew(old)).toBe('lost');
    });

    it('stands at the end when it asks again', async () => {
      const { a, b, c, old, next, waiting } = await stale();
      await a.reachable();
      expect(await a.ask(old)).toMatchObject({ status: 'queued' });
      await b.release(next);
      await c.pushed(waiting);
      await c.release(waiting);
      expect((await a.pushed(old)).fencingToken).toBeGreaterThan(next.fencingToken);
    });

    it('a claim that never asked releases and renews nothing', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const holder = await a.take(name);
      const stranger = { ...b.claim(name), fencingToken: holder.fencingToken };
      expect(await b.release(stranger)).toBe('absent');
      expect(await b.renew(stranger)).toBe('lost');
      expect(await a.renew(holder)).toEqual(expect.any(Number));
    });
  });

  describe('renewal', () => {
    it('of many locks answers for each in order, also when some are lost', async () => {
      const a = await join();
      const names = Array.from({ length: 30 }, unique);
      const holds = await Promise.all(names.map((name) => a.take(name)));
      const gone = new Set([0, 7, 29]);
      await Promise.all([...gone].map((index) => a.release(holds[index]!)));
      const before = performance.now();
      const replies = await a.backend.renew(holds.map((hold) => ({ ...hold, lease: 10_000, reserve: 0 })));
      expect(replies.map((reply) => (typeof reply === 'object' ? reply.validUntil > before : reply))).toEqual(
        holds.map((_, index) => (gone.has(index) ? 'lost' : true)),
      );
    });

    it('keeps the lock from the waiters for as long as it goes on', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name, { lease: 500 });
      const waiter = await b.queue(name);
      const { validUntil } = holder;
      // Renewed without a pause until several leases have passed; a waiter that asks all the time gets nothing.
      while (performance.now() < validUntil + 500) {
        expect(await a.renew(holder, 500)).toEqual(expect.any(Number));
        expect(await b.ask(waiter)).toMatchObject({ status: 'queued' });
      }
      expect(b.grants.filter(({ claim }) => claim === waiter.claim)).toEqual([]);
    });
  });

  describe('waiting without messages (G5)', () => {
    it('askAt leads a waiter to the lock of a holder that never came back', async () => {
      const [a, b] = [await join(), await join({ deaf: true })];
      const name = unique();
      await a.take(name, { lease: 120 });
      const waiter = b.claim(name);
      let questions = 0;
      for (;;) {
        const reply = await b.ask(waiter);
        questions++;
        if (reply.status === 'granted') break;
        if (reply.status !== 'queued') throw new Error(reply.status);
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, reply.askAt - performance.now())));
      }
      // The first, the one at the end of the lease, and at most one more for a timer that fired early.
      expect(questions).toBeLessThanOrEqual(4);
    });

    it('askAt is never further away than `poll`', async () => {
      const [a, b] = [await join(), await join({ poll: 100 })];
      const name = unique();
      await a.take(name);
      const reply = await b.ask(b.claim(name));
      if (reply.status !== 'queued') throw new Error(reply.status);
      expect(reply.askAt - performance.now()).toBeLessThanOrEqual(100);
    });
  });

  describe('the end', () => {
    it('close() settles every call that is under way', async () => {
      const a = await join();
      const name = unique();
      const calls = Promise.allSettled([a.ask(a.claim(name)), a.ask(a.claim(name)), a.backend.renew([])]);
      await a.backend.close();
      expect(await calls).toHaveLength(3);
    });

    it('after close() every call rejects as unavailable, and renewals are unanswered', async () => {
      const a = await join();
      const holder = await a.take(unique());
      await a.backend.close();
      await expect(a.ask(a.claim(unique()))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await expect(a.release(holder)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(await a.renew(holder)).toBe('unanswered');
    });
  });
}
