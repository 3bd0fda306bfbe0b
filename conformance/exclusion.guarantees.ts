import { allCapabilities } from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import { ifAnswered, type Party } from './party.js';
import { expect } from './expectations.js';

/** Which claim holds the lock, for how long, and with which token. */
export function exclusion(bench: BackendBench): void {
  const { describe, it, dated, join, joinHearing, unique } = bench;

  it('has exactly the capabilities that were given to this suite', async () => {
    const { capabilities = allCapabilities } = bench.target.backend();
    expect(capabilities).toEqual(bench.capabilities);
  });

  describe('mutual exclusion (G1)', () => {
    it('grants a free lock to the first claim, and to no other claim while it is held', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.take(name);
      for (const party of [a, b]) {
        expect(await party.ask(party.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      }
    });

    it('grants exactly one of many claims that arrive at once', async () => {
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

    it('treats different names as different locks, with any characters in them', async () => {
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
      const outcomes = names.map((end) =>
        a.take(root + end).then(
          () => 'granted',
          ({ code }: { code: string }) => code,
        ),
      );
      const refuses = (end: string): boolean => bench.target.refuses?.(root + end) ?? false;
      expect(await Promise.all(outcomes)).toEqual(
        names.map((end) => (refuses(end) ? 'LOCK_CONFIGURATION' : 'granted')),
      );
    });

    it('replies contended, with the rest of the lease, to a claim that does not wait', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.take(name, { lease: 10_000 });
      const reply = await b.ask(b.claim(name), { enqueue: false });
      if (reply.status !== 'contended') throw new Error(reply.status);
      expect(reply.leaseLeft).toBeGreaterThan(0);
      expect(reply.leaseLeft).toBeLessThanOrEqual(10_000);
    });

    it('keeps no place in the queue for a claim that did not wait', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const holder = await a.take(name);
      await b.ask(b.claim(name), { enqueue: false });
      await a.release(holder);
      await c.take(name, { enqueue: false });
    });
  });

  describe('validUntil (G2)', () => {
    /** The next holder, as early as the backend grants one. */
    const next = async (party: Party, name: string): Promise<number> => {
      for (;;) {
        const reply = await ifAnswered(party.ask(party.claim(name), { enqueue: false, lease: 20 }));
        if (reply?.status === 'granted') return bench.time.now();
      }
    };

    it('is over before any other claim can be granted the lock', async () => {
      const [a, b] = [await join(), await join()];
      for (let round = 0; round < 8; round++) {
        const name = unique();
        const { validUntil } = await a.takeBriefly(name, 15 + round);
        expect(await next(b, name)).toBeGreaterThan(validUntil);
      }
    });

    it('is over before any other claim can be granted the lock, also after a renewal', async () => {
      const [a, b] = [await join(), await join()];
      for (let round = 0; round < 5; round++) {
        const name = unique();
        const validUntil = await a.renew(await a.take(name, { lease: 10_000 }), 10_050);
        if (typeof validUntil !== 'number') throw new Error(validUntil);
        const short = unique();
        const renewed = await a.renew(await a.takeBriefly(short, 15), 20 + round);
        if (typeof renewed !== 'number') continue; // the short lease has already ended: nothing to compare
        expect(await next(b, short)).toBeGreaterThan(renewed);
      }
    });

    it('of a pushed grant is over before any other claim can be granted the lock', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const holder = await a.take(name);
      const waiter = await b.queue(name, { lease: 400 });
      await a.release(holder);
      const { validUntil } = await b.pushed(waiter);
      expect(validUntil).toBeDefined();
      const other = await c.untilGranted(c.claim(name));
      expect(bench.time.now()).toBeGreaterThan(validUntil!);
      expect(other.fencingToken).toBeGreaterThan(0);
    });

    it('is never later than the end of the requested lease', async () => {
      const a = await join();
      const { validUntil } = await a.take(unique(), { lease: 5_000 });
      expect(validUntil - bench.time.now()).toBeLessThan(5_000);
    });
  });

  describe('fencing tokens (G3)', () => {
    it('are safe integers, and increase from holder to holder across release, expiry, cancel and hand-off', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const tokens: number[] = [];
      const released = await a.take(name);
      tokens.push(released.fencingToken);
      await a.release(released);

      tokens.push((await a.takeBriefly(name, 20)).fencingToken);
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
      // Without a queue a client may leave a lock to others for a moment after its turn.
      tokens.push((await a.untilGranted(a.claim(name))).fencingToken);

      expect(tokens.every((token) => Number.isSafeInteger(token))).toBe(true);
      expect(tokens).toEqual([...new Set(tokens)].sort((x, y) => x - y));
    });

    it('that were reserved for local hand-offs are never granted to another claim', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      let first = await a.take(name, { reserve: 100 });
      // A new server or table has no room yet between its last token and its clock.
      while (first.tokensUntil === first.fencingToken) {
        await a.release(first);
        first = await a.take(name, { reserve: 100 });
      }
      const waiter = await b.queue(name, { reserve: 100 });
      await a.release(first);
      const second = await b.pushed(waiter);
      expect(second.fencingToken).toBeGreaterThan(first.tokensUntil);
      expect(second.tokensUntil).toBeGreaterThan(second.fencingToken);
      // The holder gave out tokens by itself, and reports the last of them. A renewal reserves the next block.
      const given = { ...waiter, fencingToken: second.tokensUntil };
      const [renewed] = await b.backend.renew([{ ...given, lease: 20_000, reserve: 100 }]);
      if (typeof renewed !== 'object') throw new Error(renewed);
      expect(renewed.tokensUntil).toBeGreaterThan(given.fencingToken);
      await b.release(waiter);
      // It requests as many as its clock allows, and gets no more than that.
      expect((await a.take(name, { reserve: 1_000_000 })).fencingToken).toBeGreaterThan(renewed.tokensUntil);
    });

    dated(
      'are never reserved ahead of the clock of the backend: after a loss of all data no token is issued twice',
      async () => {
        const a = await join();
        const began = bench.time.now();
        const { fencingToken: first } = await a.take(unique());
        for (let cycle = 0; cycle < 20; cycle++) {
          const holder = await a.take(unique(), { reserve: 1_000_000 });
          const [renewed] = await a.backend.renew([{ ...holder, lease: 20_000, reserve: 1_000_000 }]);
          if (typeof renewed !== 'object') throw new Error(renewed);
          // Microseconds since the first token, by a clock whose rate differs by at most 0.1 %.
          const passed = (bench.time.now() - began) * 1_001;
          expect(holder.tokensUntil - first).toBeLessThanOrEqual(passed);
          expect(renewed.tokensUntil - first).toBeLessThanOrEqual(passed);
        }
      },
    );

    it('increase over many fast cycles of several clients', async () => {
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
}
