import { callerSuffix, lockDefaults, newClientId, partyOf } from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import { aborted, type ClientBench, type WatchedMember } from './client-bench.js';
import { expect } from './expectations.js';

const claimOf = (member: WatchedMember, name: string): string =>
  member.backend.acquires.findLast((call) => call.name === name)!.id;

/** This host and process, as views show them. */
const here = partyOf(newClientId());

/** Snapshots and forced releases at the port. */
export function snapshots(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique } = bench;
  const look = (name: string, waiters = 10) => bench.parties[0]!.backend.inspect!(name, waiters);

  describe('a snapshot', () => {
    inOrder('of a lock that was just handed over shows that its holder has not confirmed it yet', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const first = await a.take(name);
      expect((await look(name)).holders[0]).toMatchObject({ id: first.id, state: 'held', permits: 1 });
      const waiting = await b.queue(name);
      await a.release(first);
      const { fencingToken } = await b.pushed(waiting);
      const handedOver = await look(name);
      expect(handedOver.holders[0]).toMatchObject({ id: waiting.id, fencingToken, state: 'provisional' });
      expect(handedOver.waiters).toEqual([]);
      await b.renew({ ...waiting, fencingToken });
      expect((await look(name)).holders[0]).toMatchObject({ id: waiting.id, state: 'held' });
    });

    inOrder('lists at most the requested number of waiters, the first ones', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      await a.take(name);
      const first = await b.queue(name);
      await c.queue(name);
      expect((await look(name, 1)).waiters.map(({ id: claim }) => claim)).toEqual([first.id]);
      expect((await look(name, 0)).waiters).toEqual([]);
    });

    inOrder('lists the holders of a shared lock in the order of their grants, not of their expiry', async () => {
      const a = await join();
      const name = unique();
      const demand = { kind: 'shared', permits: 1, limit: 0 } as const;
      const tokens = [];
      for (const lease of [60_000, 20_000, 40_000]) tokens.push((await a.take(name, { demand, lease })).fencingToken);
      expect((await look(name)).holders.map(({ fencingToken }) => fencingToken)).toEqual(tokens);
    });
  });

  describe('a snapshot with a waiter that was not reached when it was its turn', () => {
    inOrder('shows that, and lists the waiter at its place', async () => {
      const [a, dead, b, c] = [await join(), await joinHearing(), await joinHearing(), await joinHearing()];
      const name = unique();
      const holder = await a.take(name);
      const first = await dead.queue(name);
      const next = await b.queue(name);
      const last = await c.queue(name);
      expect((await look(name)).waiters.map(({ reachable }) => reachable)).toEqual([true, true, true]);
      await bench.target.crash(dead.backend, dead.id);
      await a.release(holder);
      await b.pushed(next);
      expect((await look(name)).waiters.map(({ id: claim, reachable }) => [claim, reachable])).toEqual([
        [first.id, false],
        [last.id, true],
      ]);
    });
  });

  describe('a holder whose lock is released by force', () => {
    it('holds no longer, and its next acquire, renewal and release report that', async () => {
      const a = await join();
      const name = unique();
      const held = await a.take(name);
      expect(await a.backend.revoke!(name, [held])).toEqual([held.id]);
      expect((await look(name)).holders).toEqual([]);
      expect(await a.renew(held)).toBe('lost');
      expect(await a.release(held)).toBe('absent');
    });

    it('is named in the request, so that a repeated or late one takes the lock from no later holder', async () => {
      const [a, b] = [await join(), await joinHearing()];
      const name = unique();
      const held = await a.take(name);
      const waiting = await b.queue(name);
      const { holders } = await look(name);
      expect(await a.backend.revoke!(name, holders)).toEqual([held.id]);
      const { fencingToken } = await b.pushed(waiting);
      expect(await a.backend.revoke!(name, holders)).toEqual([]);
      expect(await b.renew({ ...waiting, fencingToken })).toBeTypeOf('number');
      // The same claim with an earlier token means an earlier grant.
      const earlier = { id: waiting.id, fencingToken: fencingToken - 1_000_000 };
      expect(await a.backend.revoke!(name, [earlier])).toEqual([]);
      expect(await b.renew({ ...waiting, fencingToken })).toBeTypeOf('number');
    });
  });
}

/** What operators see and do. */
export function views(bench: ClientBench): void {
  const { describe, it, inOrder, join, unique } = bench;

  describe('inspect', () => {
    it('shows which method and process hold a lock, for how long, and until when, and never the id of the claim', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.acquire(name);
      const info = await b.operators.views.inspect(name);
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

    inOrder('lists the waiters in the order in which they will be served', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      await a.acquire(name);
      await b.queue(name);
      await c.queue(name);
      const { waiters } = await a.operators.views.inspect(name);
      const [first, second] = waiters;
      expect(waiters.map(({ client }) => client)).toEqual(
        [b, c].map((waiter) => partyOf(claimOf(waiter, name)).client),
      );
      expect(first).toMatchObject({ pid: process.pid, kind: 'exclusive', permits: 1 });
      expect(first!.waited).toBeGreaterThanOrEqual(second!.waited);
    });

    it('shows the method that requested the lock, and in its own process the one that has it now; with their labels', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const call = (where: string, label: string) =>
        a.client.acquire(name, { ...lockDefaults, method: where, label, callerSuffix: callerSuffix(where, label) });
      const first = await call('Report.daily', 'import 1');
      const second = call('Report.weekly', 'import 2');
      const works = async ({ operators }: WatchedMember) =>
        (await operators.views.inspect(name)).holders.map(({ method, label }) => [method, label]);
      expect(await works(b)).toEqual([['Report.daily', 'import 1']]);
      await first.release();
      const lock = await second;
      expect(await works(a)).toEqual([['Report.weekly', 'import 2']]);
      expect((await a.operators.views.inspect(name)).holders[0]).toMatchObject({ fencingToken: lock.fencingToken });
    });

    it('shows the label of each holder and waiter', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const labels = ["import 4711: 'a'\n{test} 100 %", 'ü'.repeat(100)];
      await a.acquire(name, { label: labels[0] });
      await b.queue(name, { label: labels[1] });
      const { holders, waiters } = await b.operators.views.inspect(name);
      expect([...holders, ...waiters].map(({ label }) => label)).toEqual(labels);
    });

    it('of a free lock is empty, and keeps no caller from taking it', async () => {
      const a = await join();
      const name = unique();
      const free = { key: name, kind: undefined, limit: undefined, holders: [], waiters: [] };
      expect(await a.operators.views.inspect(name)).toEqual(free);
      await (await a.acquire(name, { wait: 0 })).release();
      expect(await a.operators.views.inspect(name)).toEqual(free);
    });

    it('shows that a lock is only kept by minHold', async () => {
      const a = await join();
      const name = unique();
      await (await a.acquire(name, { minHold: 10_000 })).release();
      const [holder] = (await a.operators.views.inspect(name)).holders;
      expect(holder!.state).toBe('kept');
      expect(holder!.leaseLeft).toBeLessThanOrEqual(10_000);
    });
  });

  describe('forceRelease', () => {
    it('hands the lock to the next waiter and aborts the signal of its holder, whose work then rejects', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const scope = await a.enter(name, { lease: 2_400, renew: true });
      const { lock: next } = await b.queue(name);
      expect(await c.operators.views.forceRelease(name)).toBe(true);
      const lock = await next;
      expect(lock.fencingToken).toBeGreaterThan(scope.lock.fencingToken);
      const reason = await aborted(scope.lock);
      expect(reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: name });
      await expect(scope.leave('worked')).rejects.toBe(reason);
      expect((await c.operators.views.inspect(name)).holders[0]!.client).toBe(partyOf(claimOf(b, name)).client);
      expect(lock.isHeld).toBe(true);
    });

    it('is reported by the release of a holder that has not learned of it before', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const scope = await a.enter(name);
      expect(await b.operators.views.forceRelease(name)).toBe(true);
      await expect(scope.leave('worked')).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    });

    it('aborts a holder of its own process at once, and logs which process did it and whose lock it was', async () => {
      const a = await join();
      const name = unique();
      const where = 'Report.daily';
      const label = 'import 4711';
      const lock = await a.client.acquire(name, {
        ...lockDefaults,
        method: where,
        label,
        callerSuffix: callerSuffix(where, label),
      });
      expect(await a.operators.views.forceRelease(name)).toBe(true);
      expect(lock.isHeld).toBe(false);
      expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      const warnings = a.log.lines.filter((line) => line.startsWith('warn'));
      expect(warnings).toHaveLength(1);
      for (const part of [name, here.host!, `process ${process.pid}`, "Report.daily 'import 4711'"])
        expect(warnings[0]!.includes(part)).toBe(true);
    });

    it('with a token takes the lock from the holder with this token only, and other readers keep theirs', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const [one, other] = [await a.acquire(name, { shared: true }), await b.acquire(name, { shared: true })];
      const { holders } = await c.operators.views.inspect(name);
      expect(holders).toHaveLength(2);
      expect(await c.operators.views.forceRelease(name, { fencingToken: holders[0]!.fencingToken })).toBe(true);
      const left = (await c.operators.views.inspect(name)).holders;
      expect(left.map(({ fencingToken }) => fencingToken)).toEqual([holders[1]!.fencingToken]);
      await expect(one.renew()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
      await other.renew();
    });

    it('with the token of an earlier holder takes the lock from no later one, returns false and is not logged', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const first = await a.acquire(name);
      const [seen] = (await c.operators.views.inspect(name)).holders;
      const { lock: next } = await b.queue(name);
      await first.release();
      const lock = await next;
      expect(await c.operators.views.forceRelease(name, { fencingToken: seen!.fencingToken })).toBe(false);
      expect(c.log.lines).toEqual([]);
      await lock.renew();
      const [now] = (await c.operators.views.inspect(name)).holders;
      expect(await c.operators.views.forceRelease(name, { fencingToken: now!.fencingToken })).toBe(true);
    });

    it('takes the lock from a caller of its own process by the token that this process shows', async () => {
      const a = await join();
      const name = unique();
      const first = await a.acquire(name);
      const second = a.acquire(name);
      await first.release();
      const lock = await second;
      const [seen] = (await a.operators.views.inspect(name)).holders;
      expect(seen!.fencingToken).toBe(lock.fencingToken);
      expect(await a.operators.views.forceRelease(name, { fencingToken: lock.fencingToken })).toBe(true);
      expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    });

    it('logs the person and the reason, and no control characters of theirs', async () => {
      const a = await join();
      const name = unique();
      await a.acquire(name);
      await a.operators.views.forceRelease(name, { actor: 'anna@example.com', reason: 'hangs\u001b[2J' });
      const warnings = a.log.lines.filter((line) => line.startsWith('warn'));
      expect(warnings).toHaveLength(1);
      expect(warnings[0]!.includes(`by 'anna@example.com' (${here.host!}, process ${process.pid})`)).toBe(true);
      expect(warnings[0]!.endsWith(String.raw` Reason: 'hangs\u001b[2J'.`)).toBe(true);
    });

    it('of a free lock does nothing, and is not logged', async () => {
      const a = await join();
      expect(await a.operators.views.forceRelease(unique())).toBe(false);
      expect(a.log.lines).toEqual([]);
    });

    it('frees a lock that only minHold keeps', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await (await a.acquire(name, { minHold: '1m' })).release();
      expect(await b.operators.views.forceRelease(name)).toBe(true);
      await b.acquire(name, { wait: 0 });
    });
  });

  describe('list', () => {
    it('returns each held name once, and filters by prefix', async () => {
      const [a, b] = [await join(), await join()];
      const root = unique();
      // Also names with characters that mean something in patterns and keys.
      const held = ['1', '2', '[ab]*', '?', 'ä{}', ':', '\\'].map((end) => `${root}:${end}`).sort();
      await Promise.all(held.map((name) => a.acquire(name)));
      await a.acquire(`${root}-other`);
      await (await a.acquire(`${root}:gone`)).release();
      const names = async (startsWith: string) => {
        const found: string[] = [];
        for await (const name of b.operators.views.list({ startsWith })) found.push(name);
        return found.sort();
      };
      expect(await names(`${root}:`)).toEqual(held);
      expect(await names(`${root}:[`)).toEqual([`${root}:[ab]*`]);
      expect(await names(root)).toEqual([`${root}-other`, ...held].sort());
      expect((await names('')).filter((name) => name.startsWith(root))).toHaveLength(held.length + 1);
    });
  });
}
