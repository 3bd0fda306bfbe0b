import {
  type AdoptOptions,
  exclusive,
  type Lock,
  lockDefaults,
  type LockDemand,
  partyOf,
  readTicket,
  resolveAdoption,
  type TicketHold,
} from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import { aborted, type ClientBench, type WatchedMember } from './client-bench.js';
import { expect, thrownBy } from './expectations.js';

/** Moves of a hold from one claim to another, at the port. */
export function adoption(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique, capabilities } = bench;
  const demands: LockDemand[] = [exclusive];
  if (capabilities.shared) demands.push({ kind: 'shared', permits: 1, limit: 0 });
  if (capabilities.permits) demands.push({ kind: 'permits', permits: 2, limit: 2 });

  describe('a hold that is moved to another claim', () => {
    for (const demand of demands) {
      inOrder(`with a shorter lease notifies the first waiter when that lease ends (${demand.kind})`, async () => {
        const [a, b, c] = [await join(), await join(), await joinHearing()];
        const name = unique();
        const held = await a.take(name, { lease: 60_000, demand });
        const waiting = await c.queue(name, demand.kind === 'permits' ? { demand } : {});
        await b.adopt(b.claim(name), held, 10_000);
        expect(await c.freeAt(waiting)).toBeLessThanOrEqual(bench.time.now() + 10_000 + 2);
      });

      it(`is none that was released and that minHold keeps: it is over, and stays where it is (${demand.kind})`, async () => {
        const [a, b] = [await join(), await join()];
        const name = unique();
        const held = await a.take(name, { demand });
        await a.release(held, 60_000);
        const mine = b.claim(name);
        const { fencingToken } = held;
        expect(await b.adopt(mine, held)).toBe('gone');
        expect(await b.renew({ ...mine, fencingToken })).toBe('lost');
      });
    }

    it('keeps its token, and its former claim can neither renew nor release it', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.take(name);
      const mine = b.claim(name);
      const { fencingToken } = held;
      expect(await b.adopt(mine, held)).toBeTypeOf('number');
      expect(await a.renew(held)).toBe('lost');
      expect(await a.release(held)).toBe('absent');
      expect(await b.renew({ ...mine, fencingToken })).toBeTypeOf('number');
      expect(await b.release(mine)).toBe('released');
    });

    it('gets a lease of its own, also a shorter one; a repeated move returns the same hold, and never shortens it', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.take(name, { lease: 60_000 });
      const mine = b.claim(name);
      const before = bench.time.now();
      expect(await b.adopt(mine, held, 20_000)).toBeLessThan(before + 40_000);
      const { fencingToken } = held;
      const renewed = await b.renew({ ...mine, fencingToken }, 50_000);
      expect(renewed).toBeGreaterThan(before + 40_000);
      expect(await b.adopt(mine, held, 1_000)).toBeGreaterThan(before + 40_000);
    });

    it('goes to exactly one of the claims that try', async () => {
      const parties = await Promise.all([join(), join(), join()]);
      const name = unique();
      const held = await parties[0].take(name);
      const replies = await Promise.all(parties.map((party) => party.adopt(party.claim(name), held)));
      expect(replies.filter((reply) => typeof reply === 'number')).toHaveLength(1);
      expect(replies.filter((reply) => reply === 'taken')).toHaveLength(2);
    });

    it('rejects another claim, a smaller or invented token, and a move that comes too late', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.take(name);
      const { id, fencingToken } = held;
      for (const wrong of [
        { id: `${id}0`, fencingToken: fencingToken + 1 },
        { id, fencingToken: fencingToken - 1 },
        { id, fencingToken: fencingToken + 10 ** 12 },
      ])
        expect(await b.adopt(b.claim(name), wrong)).toBe('gone');
      await a.release(held);
      expect(await b.adopt(b.claim(name), held)).toBe('gone');
      expect(await b.take(unique())).toBeDefined();
    });
  });
}

/** Readers and permits, for backends that have them. */
export function handingShares(bench: ClientBench): void {
  const { describe, it, join, unique } = bench;

  describe('a share of a lock that is handed over', () => {
    it('of a reader stays valid beside the other readers, and the writer waits until the last has ended', async () => {
      const [a, b, writer] = [await join(), await join(), await join()];
      const name = unique();
      const [moving, staying] = [await a.acquire(name, { shared: true }), await a.acquire(name, { shared: true })];
      const { lock: next } = await writer.queue(name);
      const ticket = await moving.export();
      const there = await adopted(b, ticket);
      expect(there.fencingToken).toBe(moving.fencingToken);
      await expect(adopted(a, ticket)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'adopted' });
      await staying.release();
      await there.renew();
      expect((await writer.operators.views.inspect(name)).holders.map(({ fencingToken }) => fencingToken)).toEqual([
        there.fencingToken,
      ]);
      await there.release();
      expect((await next).isHeld).toBe(true);
    });

    it('of permits keeps its permits: none is free during the move, and all are free after its release', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const terms = { limit: 3, wait: 0 } as const;
      const lock = await a.acquire(name, { ...terms, permits: 2 });
      const there = await adopted(b, await lock.export());
      await a.acquire(name, terms);
      await expect(a.acquire(name, terms)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      const { kind, limit, holders } = await a.operators.views.inspect(name);
      expect([kind, limit]).toEqual(['permits', 3]);
      expect(holders.map(({ permits }) => permits).sort((a, b) => a - b)).toEqual([1, 2]);
      await there.release();
      await a.acquire(name, { ...terms, permits: 2 });
    });

    it('of permits can be re-entered after the adoption, for at most the permits it has', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { limit: 3, permits: 2 });
      const scope = await b.client.enterAdopted(readTicket(await lock.export()), lockDefaults);
      await scope.run(async () => {
        expect((await b.acquire(name, { limit: 3, permits: 2 })).depth).toBe(2);
        await expect(b.acquire(name, { limit: 3, permits: 3 })).rejects.toMatchObject({ code: 'LOCK_UPGRADE' });
      });
      await scope.leave('worked');
    });
  });
}

const adopted = ({ client }: WatchedMember, ticket: string): Promise<Lock> =>
  client.adopt(readTicket(ticket), lockDefaults);

/** A lock that is taken in one process and finished in another. */
export function handingOver(bench: ClientBench): void {
  const { describe, it, join, unique, capabilities } = bench;
  const adopt = ({ client }: WatchedMember, ticket: string, options?: AdoptOptions): Promise<Lock> =>
    client.adopt(readTicket(ticket), resolveAdoption(options, lockDefaults));

  /** How views show a client. */
  const idOf = (member: WatchedMember, name: string): string =>
    partyOf(member.backend.adoptions.findLast((call) => call.name === name)!.id).client;

  describe('a lock that is handed over', () => {
    it('continues in the other process with the same token, and no other caller gets it in between', async () => {
      const [a, b, waiter] = [await join(), await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name, { lease: 2_400, renew: true });
      const { lock: next } = await waiter.queue(name);
      const { signal } = lock;
      const ticket = await lock.export();
      expect(lock).toMatchObject({ isHeld: false, leaseLeft: 0 });
      const there = await adopt(b, JSON.parse(JSON.stringify({ ticket })).ticket);
      expect(there).toMatchObject({ key: name, keys: [name], isHeld: true, depth: 1 });
      expect(there.fencingToken).toBe(lock.fencingToken);
      expect(signal.aborted).toBe(false);
      await there.release();
      expect((await next).fencingToken).toBeGreaterThan(lock.fencingToken);
      expect(signal.aborted).toBe(false);
      expect([a, b].flatMap(({ log }) => log.lines)).toEqual([]);
    });

    it('keeps the label of its call, unless the adoption has another one', async () => {
      if (!capabilities.views) return;
      const [a, b, c] = [await join(), await join(), await join()];
      const labels = async (name: string) =>
        (await c.operators.views.inspect(name)).holders.map(({ label, client }) => [label, client === idOf(b, name)]);
      for (const [options, label] of [
        [{}, 'import 4711: ü'],
        [{ label: 'second half' }, 'second half'],
      ] as const) {
        const name = unique();
        const lock = await a.acquire(name, { label: 'import 4711: ü' });
        const there = await adopt(b, await lock.export(), options);
        expect(await labels(name)).toEqual([[label, true]]);
        await there.release();
      }
    });

    it('gives the owner of its ticket no access to other locks of its process', async () => {
      const [a, b] = [await join(), await join()];
      const [name, other] = [unique(), unique()];
      const lock = await a.acquire(name);
      const next = await a.acquire(other);
      const { holds, ...demand } = readTicket(await lock.export());
      const [{ claim }] = holds as [TicketHold];
      // Claims are counted: the next claim differs in its number, and in no other visible part.
      const count = /:([0-9a-z]+)/.exec(claim)![1]!;
      for (let distance = -50; distance <= 50; distance++) {
        const guess = claim.replace(`:${count}`, `:${Math.max(0, Number.parseInt(count, 36) + distance).toString(36)}`);
        const ticket = { ...demand, holds: [{ name: other, claim: guess, fencingToken: next.fencingToken }] };
        await expect(b.client.adopt(ticket, lockDefaults)).rejects.toMatchObject({ code: 'LOCK_LOST' });
      }
      await next.renew();
    });

    it('has ended in its first process: it is not released there, and each use of it fails', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const scope = await a.enter(name);
      const { lock } = scope;
      const ticket = await lock.export();
      const reason = thrownBy(() => lock.assertHeld());
      expect(reason).toMatchObject({ code: 'LOCK_LOST', reason: 'exported', key: name });
      await expect(lock.renew()).rejects.toMatchObject({ reason: 'exported' });
      await expect(lock.export()).rejects.toMatchObject({ reason: 'exported' });
      expect(await scope.run(async () => a.client.current(name))).toBe(undefined);
      await lock.release();
      await scope.leave('worked');
      await a.client.shutdown(0);
      expect(a.backend.releases).toEqual([]);
      expect(await adopt(b, ticket)).toMatchObject({ isHeld: true });
    });

    it('is renewed by the process that adopts it, and can be re-entered there', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const ticket = await (await a.acquire(name)).export();
      const content = readTicket(ticket);
      const scope = await b.client.enterAdopted(content, resolveAdoption({ lease: 1_500, renew: true }, lockDefaults));
      await scope.run(async () => {
        const inner = await b.acquire(name);
        expect(inner.depth).toBe(2);
        await inner.release();
      });
      await b.backend.until(() => b.backend.renewals.filter(({ replies }) => replies).length >= 4);
      expect(scope.lock.isHeld).toBe(true);
      await scope.leave('worked');
      await c.acquire(name, { wait: 0 });
    });

    it('is adopted once: a second adoption is refused, at once and after the first has ended', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const ticket = await (await a.acquire(name)).export();
      const tries = await Promise.allSettled([adopt(b, ticket), adopt(c, ticket)]);
      const won = tries.find((result) => result.status === 'fulfilled');
      const lost = tries.filter((result) => result.status === 'rejected');
      expect(lost).toHaveLength(1);
      expect(lost[0]!.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'adopted', key: name });
      await won!.value.release();
      await expect(adopt(a, ticket)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired', key: name });
      const next = await a.acquire(name, { wait: 0 });
      await expect(adopt(b, ticket)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      expect(next.isHeld).toBe(true);
      await next.release();
      expect(a.log.lines).toEqual([]);
    });

    it('and that is never adopted is free when its lease is over', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      const shorter = await a.acquire(`${name}:short`, { lease: 600 });
      const tickets = [await lock.export(), await shorter.export()] as const;
      const next = await b.acquire(`${name}:short`, { wait: '15s' });
      await expect(adopt(a, tickets[1])).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
      expect(next.isHeld).toBe(true);
      // The other one has a whole lease of its own.
      await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    });

    it('has the lease of its ticket, even if less was left of it at the export', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const ticket = await (await a.acquire(name, { lease: 500 })).export(20_000);
      // By then the first lease is over.
      await aborted(await a.acquire(`${name}:clock`, { lease: 600 }));
      expect(await adopt(b, ticket)).toMatchObject({ isHeld: true });
    });

    it('and that was lost cannot be handed over', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      await b.operators.views.forceRelease(name);
      await expect(lock.export()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      const gone = await a.acquire(name);
      await gone.release();
      await expect(gone.export()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'released' });
    });

    it('cannot be handed over while a re-entry is inside it', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const scope = await a.enter(name);
      await scope.run(async () => {
        const inner = await a.acquire(name);
        for (const lock of [inner, scope.lock])
          await expect(lock.export()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION', key: name });
        await inner.release();
      });
      expect(scope.lock.isHeld).toBe(true);
      expect(await adopt(b, await scope.lock.export())).toMatchObject({ isHeld: true });
    });

    it('keeps its waiters: callers of its first process get it when it has ended in the other one', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      const waiting = a.acquire(name, { wait: '15s' });
      const ticket = await lock.export();
      const there = await adopt(b, ticket);
      await expect(a.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await there.release();
      const next = await waiting;
      expect(next.fencingToken).toBeGreaterThan(there.fencingToken);
      await next.release();
    });

    it('continues with the token of the caller that exported it, after local hand-offs', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const first = await a.acquire(name);
      const second = a.acquire(name);
      await first.release();
      const lock = await second;
      const there = await adopt(b, await lock.export());
      expect(there.fencingToken).toBe(lock.fencingToken);
      await there.renew();
      await there.release();
      expect((await b.acquire(name, { wait: 0 })).fencingToken).toBeGreaterThan(there.fencingToken);
    });

    it('of several names moves as a whole, each name with its token, to exactly one of the processes that try', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const root = unique();
      const names = [`${root}:1`, `${root}:2`, `${root}:3`];
      const lock = await a.acquire(names);
      const ticket = await lock.export();
      const tries = await Promise.allSettled([adopt(b, ticket), adopt(c, ticket)]);
      const [won] = tries.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(tries.filter(({ status }) => status === 'rejected')).toHaveLength(1);
      expect(won!.keys).toEqual(names);
      expect([...won!.fencingTokens]).toEqual([...lock.fencingTokens]);
      expect(won!.isHeld).toBe(true);
      await won!.release();
      await a.acquire(names, { wait: 0 });
    });

    it('of several names cannot be adopted when one of them is lost, and the others are released', async () => {
      const [a, b] = [await join(), await join()];
      const root = unique();
      const names = [`${root}:1`, `${root}:2`, `${root}:3`];
      const ticket = await (await a.acquire(names)).export();
      await a.operators.views.forceRelease(names[1]!);
      await expect(adopt(b, ticket)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired', key: names[1] });
      await a.acquire(names, { wait: 0 });
    });
  });
}
