import { methodSuffix, newClientId, originOf } from '../../core/claim-id.js';
import { lockDefaults } from '../../core/options.js';
import type { BackendBench } from './backend-bench.js';
import { aborted, type ClientBench, type Member } from './client-bench.js';
import { expect } from './expectations.js';

const claimOf = (member: Member, name: string): string =>
  member.backend.acquires.findLast((call) => call.name === name)!.claim;

/** This host and process, as views tell of them. */
const here = originOf(newClientId());

/** What is told of locks at the port, and taking them away there. */
export function snapshots(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique } = bench;
  const look = (name: string, waiters = 10) => bench.parties[0]!.backend.inspect!(name, waiters);

  describe('a snapshot', () => {
    inOrder('of a lock that was just handed over says that nothing has been heard of its holder yet', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const first = await a.take(name);
      expect((await look(name)).holders[0]).toMatchObject({ claim: first.claim, state: 'full', permits: 1 });
      const waiting = await b.queue(name);
      await a.release(first);
      const { fencingToken } = await b.pushed(waiting);
      const handedOver = await look(name);
      expect(handedOver.holders[0]).toMatchObject({ claim: waiting.claim, fencingToken, state: 'provisional' });
      expect(handedOver.waiters).toEqual([]);
      await b.renew({ ...waiting, fencingToken });
      expect((await look(name)).holders[0]).toMatchObject({ claim: waiting.claim, state: 'full' });
    });

    inOrder('tells of no more waiters than are wanted, the first ones', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      await a.take(name);
      const first = await b.queue(name);
      await c.queue(name);
      expect((await look(name, 1)).waiters.map(({ claim }) => claim)).toEqual([first.claim]);
      expect((await look(name, 0)).waiters).toEqual([]);
    });
  });

  describe('a holder that is deprived of its lock', () => {
    it('holds no more, and its next question, renewal and release say so', async () => {
      const a = await join();
      const name = unique();
      const held = await a.take(name);
      expect(await a.backend.revoke!(name, [held])).toEqual([held.claim]);
      expect((await look(name)).holders).toEqual([]);
      expect(await a.renew(held)).toBe('lost');
      expect(await a.release(held)).toBe('absent');
    });

    it('is named: asked for again, or late, nobody who came after loses anything', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const held = await a.take(name);
      const waiting = await b.queue(name);
      const { holders } = await look(name);
      expect(await a.backend.revoke!(name, holders)).toEqual([held.claim]);
      const { fencingToken } = await b.pushed(waiting);
      expect(await a.backend.revoke!(name, holders)).toEqual([]);
      expect(await b.renew({ ...waiting, fencingToken })).toBeTypeOf('number');
      // The same claim with an earlier token is an earlier grant.
      const earlier = { claim: waiting.claim, fencingToken: fencingToken - 1_000_000 };
      expect(await a.backend.revoke!(name, [earlier])).toEqual([]);
      expect(await b.renew({ ...waiting, fencingToken })).toBeTypeOf('number');
    });
  });
}

/** What operators look at and do. */
export function views(bench: ClientBench): void {
  const { describe, it, inOrder, join, unique } = bench;

  describe('inspect', () => {
    it('tells who holds a lock and where that lives, for how long, and until when; and never its id', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      const info = await b.client.views.inspect(name);
      const [holder] = info.holders;
      expect(info).toMatchObject({ key: name, kind: 'exclusive', limit: undefined, waiters: [] });
      expect(info.holders).toHaveLength(1);
      expect(holder).toMatchObject({ pid: process.pid, method: undefined, state: 'held', permits: 1 });
      expect(holder!.fencingToken).toBeGreaterThanOrEqual(lock.fencingToken);
      expect(holder!.host).toBe(here.host);
      expect(holder!.heldFor).toBeLessThan(30_000);
      expect(holder!.leaseLeft).toBeGreaterThan(0);
      expect(holder!.leaseLeft).toBeLessThanOrEqual(30_000);
      const claim = claimOf(a, name);
      expect(claim.startsWith(holder!.client)).toBe(true);
      expect(JSON.stringify(info).includes(claim.slice(0, 10))).toBe(false);
    });

    inOrder('tells the waiters in the order in which they will be served', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      await a.acquire(name);
      await b.queue(name);
      await c.queue(name);
      const { waiters } = await a.client.views.inspect(name);
      const [first, second] = waiters;
      expect(waiters.map(({ client }) => client)).toEqual(
        [b, c].map((waiter) => originOf(claimOf(waiter, name)).client),
      );
      expect(first).toMatchObject({ pid: process.pid, kind: 'exclusive', permits: 1 });
      expect(first!.waited).toBeGreaterThanOrEqual(second!.waited);
    });

    it('tells the method that asked, and in the own process the one that has the lock by now', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const call = (where: string) => a.client.acquire(name, { ...lockDefaults, where, method: methodSuffix(where) });
      const first = await call('Report.daily');
      const second = call('Report.weekly');
      const methods = async ({ client }: Member) => (await client.views.inspect(name)).holders.map((one) => one.method);
      expect(await methods(b)).toEqual(['Report.daily']);
      await first.release();
      const lock = await second;
      expect(await methods(a)).toEqual(['Report.weekly']);
      expect((await a.client.views.inspect(name)).holders[0]).toMatchObject({ fencingToken: lock.fencingToken });
    });

    it('of a lock that nobody holds tells nothing, and keeps nobody from taking it', async () => {
      const a = await join();
      const name = unique();
      const free = { key: name, kind: undefined, limit: undefined, holders: [], waiters: [] };
      expect(await a.client.views.inspect(name)).toEqual(free);
      await (await a.acquire(name, { wait: 0 })).release();
      expect(await a.client.views.inspect(name)).toEqual(free);
    });

    it('says of a lock that minHold keeps that its work is over', async () => {
      const a = await join();
      const name = unique();
      await (await a.acquire(name, { minHold: 10_000 })).release();
      const [holder] = (await a.client.views.inspect(name)).holders;
      expect(holder!.state).toBe('kept');
      expect(holder!.leaseLeft).toBeLessThanOrEqual(10_000);
    });
  });

  describe('forceRelease', () => {
    it('hands the lock to the next waiter, and aborts the signal of its holder, which is told at its release', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const scope = await a.enter(name, { lease: 2_400, renew: true });
      const { lock: next } = await b.queue(name);
      expect(await c.client.views.forceRelease(name)).toBe(true);
      const lock = await next;
      expect(lock.fencingToken).toBeGreaterThan(scope.lock.fencingToken);
      const reason = await aborted(scope.lock);
      expect(reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: name });
      await expect(scope.leave('worked')).rejects.toBe(reason);
      expect((await c.client.views.inspect(name)).holders[0]!.client).toBe(originOf(claimOf(b, name)).client);
      expect(lock.isHeld).toBe(true);
    });

    it('is told at the release of a holder that has not learned of it before', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const scope = await a.enter(name);
      expect(await b.client.views.forceRelease(name)).toBe(true);
      await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    });

    it('aborts a holder of the own process at once, and writes down who did it and whose lock it was', async () => {
      const a = await join();
      const name = unique();
      const where = 'Report.daily';
      const lock = await a.client.acquire(name, { ...lockDefaults, where, method: methodSuffix(where) });
      expect(await a.client.views.forceRelease(name)).toBe(true);
      expect(lock.isHeld).toBe(false);
      expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      const warnings = a.log.lines.filter((line) => line.startsWith('warn'));
      expect(warnings).toHaveLength(1);
      for (const part of [name, here.host!, `process ${process.pid}`, 'Report.daily'])
        expect(warnings[0]!.includes(part)).toBe(true);
    });

    it('of a lock that nobody holds takes nothing, and is written down nowhere', async () => {
      const a = await join();
      expect(await a.client.views.forceRelease(unique())).toBe(false);
      expect(a.log.lines).toEqual([]);
    });

    it('frees a lock that only minHold keeps', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await (await a.acquire(name, { minHold: '1m' })).release();
      expect(await b.client.views.forceRelease(name)).toBe(true);
      await b.acquire(name, { wait: 0 });
    });
  });

  describe('list', () => {
    it('tells the names that are held, each once, and those that begin as wanted', async () => {
      const [a, b] = [await join(), await join()];
      const root = unique();
      // Names with a meaning in patterns and keys, too.
      const held = ['1', '2', '[ab]*', '?', 'ä{}', ':', '\\'].map((end) => `${root}:${end}`).sort();
      await Promise.all(held.map((name) => a.acquire(name)));
      await a.acquire(`${root}-other`);
      await (await a.acquire(`${root}:gone`)).release();
      const names = async (startsWith: string) => {
        const found: string[] = [];
        for await (const name of b.client.views.list({ startsWith })) found.push(name);
        return found.sort();
      };
      expect(await names(`${root}:`)).toEqual(held);
      expect(await names(`${root}:[`)).toEqual([`${root}:[ab]*`]);
      expect(await names(root)).toEqual([`${root}-other`, ...held].sort());
      expect((await names('')).filter((name) => name.startsWith(root))).toHaveLength(held.length + 1);
    });
  });
}
