import type { BackendBench } from './backend-bench.js';
import { expect } from './expectations.js';
import { past } from './time.js';

/** Which waiter is next. */
export function queue(bench: BackendBench): void {
  const { describe, it, inOrder, inQueue, join, joinHearing, unique } = bench;

  describe('the queue (G4)', () => {
    inOrder('hands a released lock to the waiters in order of arrival', async () => {
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

    inOrder('hands it on in order of arrival to claims that arrived at the same moment', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      // In one command, and not in the order of their ids.
      const waiters = Array.from({ length: 10 }, () => b.claim(name)).reverse();
      await Promise.all(waiters.map((waiter) => b.ask(waiter)));
      await a.release(holder);
      for (const waiter of waiters) {
        await b.pushed(waiter);
        await b.release(waiter);
      }
      expect(b.grants.filter((grant) => grant.name === name).map(({ id: claim }) => claim)).toEqual(
        waiters.map(({ id: claim }) => claim),
      );
    });

    inOrder('pushes the grant, with name, claim and token, in the same step as the release', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = `${unique()} {a}:b\r\n🎟️`;
      const holder = await a.take(name);
      const waiter = await b.queue(name);
      expect(await a.release(holder)).toBe('released');
      expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      const grant = await b.pushed(waiter);
      expect(grant).toMatchObject(waiter);
      expect(grant.validUntil! - bench.time.now()).toBeLessThan(b.backend.claimWindow);
    });

    inOrder('lets no newcomer overtake a waiter, neither with nor without waiting', async () => {
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

    inOrder('lets no newcomer overtake a waiter when the lease of the holder ran out', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      await a.take(name, { lease: 250 });
      const waiter = await b.queue(name);
      // The newcomer sends acquire after acquire; the first one after the end of the lease grants the lock to the waiter.
      for (let served = false; !served; served = b.grants.some(({ id: claim }) => claim === waiter.id)) {
        expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      }
    });

    it('removes a waiter that is cancelled, and the waiters behind it move up', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await b.queue(name);
      const second = await c.queue(name);
      expect(await b.release(first)).toBe('cancelled');
      await a.release(holder);
      await c.pushed(second);
      expect(b.grants.filter(({ id: claim }) => claim === first.id)).toEqual([]);
    });

    it('is reported to the holder: its replies say whether others wait', async () => {
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
      // Without a queue only listeners are known, and one listens for a while after its last wait.
      if (bench.capabilities.queue) expect(await outlook()).toMatchObject({ othersWait: false });
    });

    it('is empty after the cancel of its only waiter: the released lock is free', async () => {
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
      // It learns once that messages reach it, then it dies.
      await bench.target.crash(dead.backend, dead.id);
      await a.release(holder);
      expect(await b.ask(alive)).toMatchObject({ status: 'granted' });
    });

    inOrder('makes a waiter ask again when an unconfirmed grant ahead of it may have ended', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      await a.take(name, { lease: 60_000 });
      // Even if the lease requested by the one ahead is short: it does not have it yet.
      await b.queue(name, { lease: 100 });
      const reply = await c.ask(c.claim(name));
      if (reply.status !== 'queued') throw new Error(reply.status);
      expect(reply.askAt - bench.time.now()).toBeLessThanOrEqual(c.backend.claimWindow + 2);
      expect(reply.askAt - bench.time.now()).toBeGreaterThan(1_000);
    });

    inOrder(
      'tells the next waiter when the lease of a handed-on lock ends, if that is earlier than its askAt',
      async () => {
        const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
        const name = unique();
        const holder = await a.take(name);
        const next = await b.queue(name, { lease: 500 });
        const waiting = await c.queue(name);
        await a.release(holder);
        await b.pushed(next);
        expect(await c.freeAt(waiting)).toBeLessThanOrEqual(bench.time.now() + 500 + 2);
      },
    );

    inOrder(
      'tells the first waiter of another process, too, when one of the holder’s own process is ahead',
      async () => {
        const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
        const name = unique();
        const holder = await a.take(name);
        const next = await b.queue(name, { lease: 500 });
        // If its process dies with the grant, no message reaches it.
        const sibling = await b.queue(name);
        const waiting = await c.queue(name);
        const last = await c.queue(name);
        await a.release(holder);
        await b.pushed(next);
        expect(await b.freeAt(sibling)).toBeLessThanOrEqual(bench.time.now() + 500 + 2);
        expect(await c.freeAt(waiting)).toBeLessThanOrEqual(bench.time.now() + 500 + 2);
        expect(c.hints.filter(({ claim }) => claim === last.id)).toEqual([]);
      },
    );

    inOrder('tells the next waiter when a lock is free, if the waiter that was notified before gives up', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const told = await b.queue(name);
      const waiting = await c.queue(name);
      await a.release(holder, 1_500);
      await b.freeAt(told);
      expect(c.hints).toEqual([]);
      await b.release(told);
      expect(await c.freeAt(waiting)).toBeLessThanOrEqual(bench.time.now() + 1_500 + 2);
    });

    inOrder(
      'pushes no grant to other claims of a client that has let a grant lapse, until that claim asks again',
      async () => {
        const [a, silent, b] = [await join(), await joinHearing(), await joinHearing()];
        const name = unique();
        const holder = await a.take(name);
        const lease = 200;
        const claims = [
          await silent.queue(name, { lease }),
          await silent.queue(name, { lease }),
          await silent.queue(name),
        ];
        const alive = await b.queue(name);
        await a.release(holder);
        // The first one gets a grant and does not confirm it. After that grant has lapsed, the others of its client get none either.
        const served = await b.untilGranted(alive);
        expect(silent.grants.filter((grant) => grant.name === name).map(({ id: claim }) => claim)).toEqual([
          claims[0]!.id,
        ]);
        expect(await silent.ask(claims[1]!)).toMatchObject({ status: 'queued' });
        await b.release(served);
        await silent.pushed(claims[1]!);
      },
    );

    inOrder('pushes no grant to them when the claim that let it lapse is dead', async () => {
      const settings = { poll: 400, commandTimeout: 300 };
      const [a, silent, b] = [await join(), await joinHearing(settings), await joinHearing()];
      const name = unique();
      const patience = 2 * silent.backend.poll + silent.backend.commandTimeout;
      const holder = await a.take(name);
      const asked = bench.time.now();
      await silent.queue(name, { lease: 50 });
      const alive = await b.queue(name);
      await past(bench.time, asked + patience - 200);
      const other = await silent.queue(name);
      const next = await b.queue(name);
      await a.release(holder);
      const served = await b.untilGranted(alive);
      await past(bench.time, asked + patience + 50);
      // A newcomer removes dead claims.
      await a.queue(name);
      await b.release(served);
      await b.pushed(next);
      expect(silent.grants.filter(({ id: claim }) => claim === other.id)).toEqual([]);
    });

    it('treats a waiter as dead that has not asked again for more than twice `poll`', async () => {
      const [a, silent, b] = [await join(), await joinHearing({ poll: 100, commandTimeout: 300 }), await join()];
      const name = unique();
      const patience = 2 * silent.backend.poll + silent.backend.commandTimeout;
      await a.take(name, { lease: patience + 100 });
      const forgotten = await silent.queue(name);
      const alive = b.claim(name);
      await b.untilGranted(alive);
      expect(silent.grants.filter(({ id: claim }) => claim === forgotten.id)).toEqual([]);
    });
  });

  describe('a waiter that no message reaches', () => {
    inQueue('is granted a released lock, and learns it when it asks again', async () => {
      const [a, polling, c] = [await join(), await join({ polling: true }), await join()];
      const name = unique();
      const holder = await a.take(name);
      const waiter = await polling.queue(name);
      await a.release(holder);
      expect(await c.ask(c.claim(name), { enqueue: false })).toMatchObject({ status: 'contended' });
      expect(await polling.ask(waiter)).toMatchObject({ status: 'granted' });
    });

    inOrder('is skipped after it missed its turn, and keeps its place', async () => {
      const [a, polling, b, c] = [
        await join(),
        await join({ polling: true }),
        await joinHearing(),
        await joinHearing(),
      ];
      const name = unique();
      const holder = await a.take(name);
      const missing = await polling.queue(name, { lease: 60 });
      const second = await b.queue(name);
      const third = await c.queue(name);
      // The polling waiter is granted the lock and does not ask. When that grant has lapsed, the next waiter is served.
      await a.release(holder);
      const served = await b.untilGranted(second);
      // Now it asks again, and has its old place.
      expect(await polling.ask(missing)).toMatchObject({ status: 'queued' });
      await b.release(served);
      expect(await polling.ask(missing)).toMatchObject({ status: 'granted' });
      expect(c.grants.filter(({ id: claim }) => claim === third.id)).toEqual([]);
    });

    inQueue('is not granted the lock twice in a row without having asked again', async () => {
      const [a, polling, b, c] = [
        await join(),
        await join({ polling: true }),
        await joinHearing(),
        await joinHearing(),
      ];
      const name = unique();
      const holder = await a.take(name);
      await polling.queue(name, { lease: 60 });
      const second = await b.queue(name);
      const third = await c.queue(name);
      await a.release(holder);
      await b.release(await b.untilGranted(second));
      // Served at once: the polling waiter is passed over the second time.
      expect(await c.ask(third)).toMatchObject({ status: 'granted' });
    });
  });
}
