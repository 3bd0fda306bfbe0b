import type { ClaimRef, LockDemand } from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import type { Held, Party } from './party.js';
import { expect } from './expectations.js';
import { past } from './time.js';

const shared: LockDemand = { kind: 'shared', permits: 1, limit: 0 };

/** Readers and writers of one name. */
export function sharedLocks(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique } = bench;
  const read = (party: Party, name: string, lease = 20_000): Promise<Held> =>
    party.take(name, { demand: shared, lease });

  describe('a shared lock', () => {
    it('is held by any number of readers at once, each with its own token; later tokens are larger', async () => {
      const all = await Promise.all(Array.from({ length: 3 }, () => join()));
      const name = unique();
      const tokens: number[] = [];
      for (let index = 0; index < 30; index++) tokens.push((await read(all[index % all.length]!, name)).fencingToken);
      expect(tokens).toEqual([...new Set(tokens)].sort((x, y) => x - y));
    });

    inOrder(
      'tells a writer when the leases of the other readers end, after the reader with the longest lease leaves',
      async () => {
        const [a, b, c] = [await join(), await join(), await joinHearing()];
        const name = unique();
        await read(a, name, 10_000);
        const longest = await read(b, name, 60_000);
        const writer = await c.queue(name);
        await b.release(longest);
        expect(await c.freeAt(writer)).toBeLessThanOrEqual(bench.time.now() + 10_000 + 2);
      },
    );

    it('keeps writers out until the last reader has left, and readers out while a writer holds it', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const readers = [await read(a, name), await read(b, name), await read(a, name)];
      for (const reader of readers) {
        expect(await b.ask(b.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
        expect(await a.release(reader)).toBe('released');
        expect(await a.release(reader)).toBe('absent');
      }
      const writer = await b.take(name, { enqueue: false });
      expect(writer.fencingToken).toBeGreaterThan(readers[2]!.fencingToken);
      const reply = await a.ask(a.claim(name), { demand: shared, enqueue: false });
      expect(reply).toMatchObject({ status: 'contended' });
      await b.release(writer);
      expect((await read(a, name)).fencingToken).toBeGreaterThan(writer.fencingToken);
    });

    inOrder('is granted to all waiting readers in the same step as the release of the writer', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const writer = await a.take(name);
      const waiting: Array<[Party, ClaimRef]> = [];
      for (const party of [b, c, b, c, b]) waiting.push([party, await party.queue(name, { demand: shared })]);
      await a.release(writer);
      let last = writer.fencingToken;
      for (const [party, claim] of waiting) {
        const { fencingToken } = await party.pushed(claim);
        expect(fencingToken).toBeGreaterThan(last);
        last = fencingToken;
      }
      expect([...b.grants, ...c.grants].filter((grant) => grant.name === name)).toHaveLength(5);
      expect(await a.ask(a.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
    });

    inOrder(
      'lets no reader overtake a waiting writer, and grants the readers behind it together: first come, first served for both',
      async () => {
        const [a, b, c, d] = [await join(), await joinHearing(), await joinHearing(), await joinHearing()];
        const name = unique();
        const first = await read(a, name);
        const writer = await b.queue(name);
        const second = await c.queue(name, { demand: shared });
        expect(await d.ask(d.claim(name), { demand: shared, enqueue: false })).toMatchObject({ status: 'contended' });
        const third = await d.queue(name, { demand: shared });
        const last = await c.queue(name);
        const fourth = await d.queue(name, { demand: shared });
        const granted = (party: Party): string[] =>
          party.grants.filter((grant) => grant.name === name).map(({ id: claim }) => claim);
        await a.release(first);
        await b.pushed(writer);
        expect([granted(c), granted(d)]).toEqual([[], []]);
        await b.release(writer);
        await Promise.all([c.pushed(second), d.pushed(third)]);
        await c.release(second);
        expect([granted(c), granted(d)]).toEqual([[second.id], [third.id]]);
        await d.release(third);
        await c.pushed(last);
        await c.release(last);
        await d.pushed(fourth);
      },
    );

    inOrder('is granted to waiting readers when the writer ahead of them gives up', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      await read(a, name);
      const writer = await b.queue(name);
      const reader = await c.queue(name, { demand: shared });
      expect(await b.release(writer)).toBe('cancelled');
      await c.pushed(reader);
      await read(a, name);
    });

    inOrder('removes a reader that is cancelled in the middle of the queue', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const writer = await a.take(name);
      const [one, gone, two] = [
        await b.queue(name, { demand: shared }),
        await c.queue(name, { demand: shared }),
        await b.queue(name, { demand: shared }),
      ];
      expect(await c.release(gone)).toBe('cancelled');
      await a.release(writer);
      await Promise.all([b.pushed(one), b.pushed(two)]);
      expect(c.grants.filter(({ id: claim }) => claim === gone.id)).toEqual([]);
      await b.release(one);
      await b.release(two);
      await a.take(name, { enqueue: false });
    });

    inOrder('ends for each reader with its own lease: a crashed reader is gone while others renew', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const crashed = await read(a, name, 500);
      const alive = await read(b, name, 500);
      const writer = await c.queue(name);
      while (bench.time.now() < crashed.validUntil + 10) expect(await b.renew(alive, 500)).toBeTypeOf('number');
      expect(await b.renew(alive, 20_000)).toBeTypeOf('number');
      expect(await a.renew(crashed)).toBe('lost');
      expect(await a.release(crashed)).toBe('absent');
      expect(await c.ask(writer)).toMatchObject({ status: 'queued' });
      await b.release(alive);
      expect(await c.ask(writer)).toMatchObject({ status: 'granted' });
    });

    inOrder('is over for a reader before a writer is granted the lock', async () => {
      const [a, b] = [await join(), await join()];
      for (let round = 0; round < 5; round++) {
        const name = unique();
        const held = [await read(a, name, 20 + round), await read(a, name, 15)];
        const writer = await b.untilGranted(b.claim(name), { enqueue: false });
        const now = bench.time.now();
        for (const { validUntil } of held) expect(now).toBeGreaterThan(validUntil);
        await b.release(writer);
      }
    });
  });

  describe('repeated and late calls of readers (G6, G7)', () => {
    it('acquire returns the same grant again, not a longer one; a renewal never moves its end forward in time', async () => {
      const a = await join();
      const name = unique();
      const other = await read(a, name);
      const reader = await read(a, name, 5_000);
      const again = await a.ask(reader, { demand: shared, lease: 20_000 });
      expect(again).toMatchObject({ status: 'granted', fencingToken: reader.fencingToken });
      if (again.status === 'granted') expect(again.validUntil).toBeLessThan(bench.time.now() + 5_000);
      expect(await a.renew(other, 50)).toBeGreaterThan(bench.time.now() + 10_000);
    });

    inOrder('a claim that holds no longer, or has another token, renews and releases nothing', async () => {
      const a = await join();
      const name = unique();
      const [old, other] = [await read(a, name), await read(a, name)];
      expect(await a.renew({ ...other, fencingToken: old.fencingToken })).toBe('lost');
      await a.release(old);
      expect(await a.renew(old)).toBe('lost');
      const anew = await a.ask(old, { demand: shared });
      expect(anew).toMatchObject({ status: 'granted' });
      if (anew.status === 'granted') expect(anew.fencingToken).toBeGreaterThan(other.fencingToken);
      expect(await a.renew(old)).toBe('lost');
      expect(await a.renew(other)).toBeTypeOf('number');
    });

    inOrder(
      'a pushed grant lapses unless a renewal or an acquire confirms it, and its claim keeps its place in the queue',
      async () => {
        const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
        const name = unique();
        const writer = await a.take(name);
        const silent = await b.queue(name, { demand: shared, lease: 60 });
        const renewing = await c.queue(name, { demand: shared, lease: 60 });
        const asking = await c.queue(name, { demand: shared, lease: 60 });
        await a.release(writer);
        const { fencingToken } = await c.pushed(renewing);
        // On a machine that stalls they may be too late. That is correct as well: then they wait on.
        const confirmed = await c.renew({ ...renewing, fencingToken }, 20_000);
        const fetched = await c.ask(asking, { demand: shared, lease: 20_000 });
        const next = await c.queue(name);
        const last = await a.queue(name, { demand: shared });
        const missed = await b.pushed(silent);
        await past(bench.time, missed.validUntil! + 70);
        expect(await b.renew(missed)).toBe('lost');
        // It is ahead of the writer, which came later, and the other holders are readers, too.
        expect(await b.ask(silent, { demand: shared })).toMatchObject({ status: 'granted' });
        expect(await a.ask(last, { demand: shared })).toMatchObject({ status: 'queued' });
        if (typeof confirmed === 'number') expect(confirmed).toBeGreaterThan(missed.validUntil! + 10_000);
        if (fetched.status === 'granted') expect(fetched.validUntil).toBeGreaterThan(missed.validUntil! + 10_000);
        for (const claim of [renewing, asking, silent]) await (claim === silent ? b : c).release(claim);
        expect(await c.ask(next)).toMatchObject({ status: 'granted' });
      },
    );

    inOrder('a reader that no message reaches is granted the lock, and learns it when it asks again', async () => {
      const [a, polling, c] = [await join(), await join({ polling: true }), await joinHearing()];
      const name = unique();
      const writer = await a.take(name);
      const [unheard, heard] = [await polling.queue(name, { demand: shared }), await c.queue(name, { demand: shared })];
      await a.release(writer);
      await c.pushed(heard);
      await c.release(heard);
      expect(await a.ask(a.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      expect(await polling.ask(unheard, { demand: shared })).toMatchObject({ status: 'granted' });
    });

    inOrder('a writer whose process died does not hold up the readers behind it', async () => {
      const [a, dead, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const reader = await read(a, name);
      await dead.queue(name);
      const behind = await c.queue(name, { demand: shared });
      await bench.target.crash(dead.backend, dead.id);
      await a.release(reader);
      await c.pushed(behind);
      await read(a, name);
    });

    inOrder('with minHold keeps a writer out for that time, but no longer counts as held', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const reader = await read(a, name);
      expect(await a.release(reader, 500)).toBe('released');
      expect(await a.renew(reader)).toBe('lost');
      const reply = await b.ask(b.claim(name), { enqueue: false });
      expect(reply).toMatchObject({ status: 'contended' });
      if (reply.status === 'contended') expect(reply.leaseLeft).toBeLessThanOrEqual(501);
      await b.release(await read(b, name));
      await b.untilGranted(b.claim(name), { enqueue: false });
    });
  });
}
