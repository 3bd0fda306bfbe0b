import type { ClaimRef, LockDemand } from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import type { Held, Party } from './party.js';
import { expect } from './expectations.js';
import { past } from './time.js';

const of = (limit: number, permits = 1): LockDemand => ({ kind: 'permits', permits, limit });
const shared: LockDemand = { kind: 'shared', permits: 1, limit: 0 };

/** Names with a number of permits. */
export function permitLocks(bench: BackendBench): void {
  const { describe, it, join, joinHearing, unique } = bench;
  if (!bench.capabilities.permits) {
    it('refuses permits at once if it cannot count them', async () => {
      const a = await join();
      await expect(a.ask(a.claim(unique()), { demand: of(2) })).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    });
    return;
  }
  const take = (party: Party, name: string, demand: LockDemand, lease = 20_000): Promise<Held> =>
    party.take(name, { demand, lease, enqueue: false });
  const refused = async (party: Party, name: string, demand: LockDemand): Promise<void> => {
    expect(await party.ask(party.claim(name), { demand, enqueue: false })).toMatchObject({ status: 'contended' });
  };

  describe('permits', () => {
    it('are granted as long as there are any, and are free after each release; tokens increase', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held: Held[] = [];
      for (let index = 0; index < 3; index++) held.push(await take(index === 1 ? b : a, name, of(3)));
      await refused(b, name, of(3));
      expect(await a.release(held[0]!)).toBe('released');
      expect(await a.release(held[0]!)).toBe('absent');
      held.push(await take(b, name, of(3)));
      await refused(a, name, of(3));
      const tokens = held.map(({ fencingToken }) => fencingToken);
      expect(tokens).toEqual([...new Set(tokens)].sort((x, y) => x - y));
    });

    it('are counted: a claim for several is granted only when all of them are free', async () => {
      const a = await join();
      const name = unique();
      const big = await take(a, name, of(5, 3));
      await refused(a, name, of(5, 3));
      const two = await take(a, name, of(5, 2));
      await refused(a, name, of(5));
      await a.release(two);
      await take(a, name, of(5));
      await a.release(big);
      await take(a, name, of(5, 4));
      await refused(a, name, of(5));
    });

    it('go to exactly as many claims as there are permits, of many that arrive at once', async () => {
      const all = await Promise.all(Array.from({ length: 4 }, () => join()));
      const name = unique();
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const party = all[index % all.length]!;
          return party.ask(party.claim(name), { demand: of(7), enqueue: false });
        }),
      );
      expect(replies.filter(({ status }) => status === 'granted')).toHaveLength(7);
    });

    it('are granted in order of arrival: small requests do not starve a big one', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const held = [await take(a, name, of(3)), await take(a, name, of(3)), await take(a, name, of(3))];
      const big = await b.queue(name, { demand: of(3, 3) });
      const small = [await c.queue(name, { demand: of(3) }), await c.queue(name, { demand: of(3) })];
      await a.release(held[0]!);
      await refused(a, name, of(3));
      await a.release(held[1]!);
      expect(await b.ask(big, { demand: of(3, 3) })).toMatchObject({ status: 'queued' });
      await a.release(held[2]!);
      await b.pushed(big);
      expect(c.grants.filter((grant) => grant.name === name)).toEqual([]);
      await b.release(big);
      await Promise.all(small.map((claim) => c.pushed(claim)));
    });

    it('that are released together go to all waiters that fit, in the same step', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const all = await take(a, name, of(4, 4));
      const waiting: ClaimRef[] = [];
      for (const permits of [1, 2, 1, 1]) waiting.push(await b.queue(name, { demand: of(4, permits) }));
      await a.release(all);
      await Promise.all(waiting.slice(0, 3).map((claim) => b.pushed(claim)));
      await refused(a, name, of(4));
      expect(b.grants.filter(({ id: claim }) => claim === waiting[3]!.id)).toEqual([]);
      await b.release(waiting[1]!);
      await b.pushed(waiting[3]!);
    });

    it('go to the next waiter when the big request ahead of it gives up', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      await take(a, name, of(3, 2));
      const big = await b.queue(name, { demand: of(3, 2) });
      const small = await c.queue(name, { demand: of(3) });
      expect(await b.release(big)).toBe('cancelled');
      await c.pushed(small);
    });

    it('expire one by one, each with the lease of its holder', async () => {
      const [a, b, c] = [await join(), await join(), await joinHearing()];
      const name = unique();
      const crashed = await take(a, name, of(3, 2), 400);
      const alive = await take(b, name, of(3));
      const waiter = await c.queue(name, { demand: of(3, 2) });
      const { validUntil } = await c.untilGranted(waiter, { demand: of(3, 2) });
      expect(bench.time.now()).toBeGreaterThan(crashed.validUntil);
      expect(validUntil).toBeGreaterThan(crashed.validUntil);
      expect(await a.renew(crashed)).toBe('lost');
      expect(await b.renew(alive)).toBeTypeOf('number');
      await refused(a, name, of(3));
    });

    it('go to a waiter when the first lease ends', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await take(a, name, of(2), 20_000);
      await take(a, name, of(2), 3_000);
      const reply = await b.ask(b.claim(name), { demand: of(2), enqueue: false });
      if (reply.status !== 'contended') throw new Error(reply.status);
      expect(reply.leaseLeft).toBeLessThanOrEqual(3_000);
    });

    it('that were pushed to a waiter lapse unless they are confirmed, and its claim keeps its place in the queue', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const held = await take(a, name, of(2, 2));
      const silent = await b.queue(name, { demand: of(2, 2), lease: 60 });
      const next = await c.queue(name, { demand: of(2, 2) });
      const last = await a.queue(name, { demand: of(2, 2) });
      await a.release(held);
      const other = await c.untilGranted(next, { demand: of(2, 2) });
      expect(await b.renew(await b.pushed(silent))).toBe('lost');
      expect(await b.ask(silent, { demand: of(2, 2) })).toMatchObject({ status: 'queued' });
      await c.release(other);
      expect(await b.ask(silent, { demand: of(2, 2) })).toMatchObject({ status: 'granted' });
      expect(await a.ask(last, { demand: of(2, 2) })).toMatchObject({ status: 'queued' });
    });

    it('with minHold limit a rate: waiters get them one by one as each hold ends', async () => {
      const a = await join();
      const waiters = await Promise.all(Array.from({ length: 4 }, () => joinHearing({ poll: 60_000 })));
      const name = unique();
      const held = [await take(a, name, of(2)), await take(a, name, of(2))];
      const claims = [];
      for (const waiter of waiters) claims.push(await waiter.queue(name, { demand: of(2) }));
      // Two permits are free at two times: the first waiter is notified of the first; when it has that, the next waiter is notified of the second.
      const begun = bench.time.now();
      expect(await a.release(held[0]!, 300)).toBe('released');
      expect(await a.release(held[1]!, 400)).toBe('released');
      expect(await waiters[0]!.freeAt(claims[0]!)).toBeGreaterThanOrEqual(begun + 298);
      expect(waiters.slice(1).map(({ hints }) => hints)).toEqual([[], [], []]);
      await waiters[0]!.untilGranted(claims[0]!, { demand: of(2) });
      expect(bench.time.now()).toBeGreaterThanOrEqual(begun + 298);
      expect(await waiters[1]!.freeAt(claims[1]!)).toBeGreaterThanOrEqual(begun + 398);
      expect(waiters.slice(2).map(({ hints }) => hints)).toEqual([[], []]);
      await waiters[1]!.untilGranted(claims[1]!, { demand: of(2) });
      expect(bench.time.now()).toBeGreaterThanOrEqual(begun + 398);
    });

    it('go to clients that respond: a client that does not delays them by at most one claim window', async () => {
      const [a, silent, b] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const held = [await take(a, name, of(2)), await take(a, name, of(2))];
      for (let times = 0; times < 6; times++) await silent.queue(name, { demand: of(2), lease: 400 });
      const alive = await b.queue(name, { demand: of(2) });
      await a.release(held[0]!);
      await past(bench.time, bench.time.now() + 200);
      await a.release(held[1]!);
      await b.untilGranted(alive, { demand: of(2) });
      expect(silent.grants.filter((grant) => grant.name === name).length).toBeLessThanOrEqual(2);
    });

    it('with minHold stay taken for that time', async () => {
      const a = await join();
      const name = unique();
      const held = await take(a, name, of(2, 2));
      expect(await a.release(held, 500)).toBe('released');
      expect(await a.renew(held)).toBe('lost');
      await refused(a, name, of(2));
      expect(await a.release(held)).toBe('absent');
      await refused(a, name, of(2));
      await a.untilGranted(a.claim(name), { demand: of(2, 2), enqueue: false });
    });
  });

  describe('a snapshot of permits and readers', () => {
    it('lists each holder, the number of permits, and who waits for how many', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const [gateway, report] = [unique(), unique()];
      const held = [await take(a, gateway, of(5, 3)), await take(b, gateway, of(5))];
      const waiter = await b.queue(gateway, { demand: of(5, 2) });
      const view = await a.backend.inspect!(gateway, 10);
      expect(view).toMatchObject({ kind: 'permits', limit: 5 });
      const [first, second] = view.holders;
      expect(first).toMatchObject({ id: held[0]!.id, fencingToken: held[0]!.fencingToken, permits: 3 });
      expect(second).toMatchObject({ id: held[1]!.id, state: 'held', permits: 1 });
      expect(view.waiters[0]).toMatchObject({ id: waiter.id, kind: 'permits', permits: 2 });
      await a.take(report, { demand: shared });
      const writer = await b.queue(report);
      const reader = await b.queue(report, { demand: shared });
      const readers = await a.backend.inspect!(report, 10);
      expect(readers).toMatchObject({ kind: 'shared', limit: undefined });
      expect(readers.waiters.map(({ id: claim, kind }) => [claim, kind])).toEqual([
        [writer.id, 'exclusive'],
        [reader.id, 'shared'],
      ]);
    });

    it('shows holders that can be removed by force one by one: the others stay, and waiters that fit now are granted', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const [first, second] = [await take(a, name, of(2)), await take(a, name, of(2))];
      const waiter = await b.queue(name, { demand: of(2) });
      const stranger = { ...b.claim(name), fencingToken: second.fencingToken };
      expect(await b.backend.revoke!(name, [{ ...first, fencingToken: 1 }, stranger])).toEqual([]);
      expect(await b.backend.revoke!(name, [first, stranger])).toEqual([first.id]);
      await b.pushed(waiter);
      expect(await a.renew(first)).toBe('lost');
      expect(await a.renew(second)).toBeTypeOf('number');
      await refused(a, name, of(2));
    });
  });

  describe('the number of permits', () => {
    it('is that of the latest claim: when it grows, waiters are granted at once', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      await take(a, name, of(1));
      const waiting = [await b.queue(name, { demand: of(1) }), await b.queue(name, { demand: of(1) })];
      // It comes behind the waiters, and there are enough permits for all of them.
      await take(c, name, of(4));
      await Promise.all(waiting.map((claim) => b.pushed(claim)));
      await refused(c, name, of(4));
    });

    it('shrinks as permits in use are released; the number in the earlier claim of a waiter changes nothing', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const held: Held[] = [];
      for (let index = 0; index < 4; index++) held.push(await take(a, name, of(4)));
      const old = [await b.queue(name, { demand: of(4) }), await b.queue(name, { demand: of(4) })];
      const young = await c.queue(name, { demand: of(1) });
      for (const claim of old) await b.ask(claim, { demand: of(4) });
      for (const each of held.slice(0, 3)) await a.release(each);
      expect(b.grants.filter((grant) => grant.name === name)).toEqual([]);
      await a.release(held[3]!);
      await b.pushed(old[0]!);
      for (const claim of [old[1]!, young]) {
        const party = claim === young ? c : b;
        expect(party.grants.filter((grant) => grant.id === claim.id)).toEqual([]);
      }
      await b.release(old[0]!);
      await b.pushed(old[1]!);
      await b.release(old[1]!);
      await c.pushed(young);
    });

    it('that is smaller than what a waiter requests grants it when no other claim holds any: no waiter starves', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const held = await take(a, name, of(4));
      const big = await b.queue(name, { demand: of(4, 4) });
      const small = await c.queue(name, { demand: of(2) });
      await a.release(held);
      await b.pushed(big);
      await b.release(big);
      await c.pushed(small);
    });
  });

  describe('a name that is used with permits and without', () => {
    const mismatch = { code: 'LOCK_KIND_MISMATCH' };

    it('refuses the second kind, with and without waiting, and is free for both when no claim holds it', async () => {
      const a = await join();
      for (const [first, second] of [
        [of(2), undefined],
        [of(2), shared],
        [undefined, of(2)],
        [shared, of(2)],
      ]) {
        const name = unique();
        const held = await a.take(name, { demand: first });
        for (const enqueue of [true, false]) {
          await expect(a.ask(a.claim(name), { demand: second, enqueue })).rejects.toMatchObject({
            ...mismatch,
            key: name,
          });
        }
        expect(await a.renew(held)).toBeTypeOf('number');
        expect(await a.release(held)).toBe('released');
        const other = await a.take(name, { demand: second });
        expect(await a.release(other)).toBe('released');
        await a.take(name, { demand: first });
      }
    });

    it('refuses the other kind while claims wait for it', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const held = await a.take(name, { lease: 100 });
      const waiter = await b.queue(name);
      await past(bench.time, held.validUntil + 20);
      await expect(c.ask(c.claim(name), { demand: of(2) })).rejects.toMatchObject(mismatch);
      await b.pushed(waiter);
    });
  });
}
