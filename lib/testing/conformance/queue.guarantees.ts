import type { BackendBench } from './backend-bench.js';
import { expect } from './expectations.js';

/** Who is served next. */
export function queue(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique } = bench;

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

    inOrder('pushes the grant, with its name, claim and token, in the same step as the release', async () => {
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

    inOrder('lets no newcomer overtake a waiter, neither one who waits nor one who tries', async () => {
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
      await bench.place.crash(dead.backend, dead.id);
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

    inOrder('is passed over when it missed its turn, and keeps its place', async () => {
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
}
