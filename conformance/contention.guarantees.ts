import {
  type AcquireReply,
  callerOf,
  callerSuffix,
  lockDefaults,
  type LockDemand,
  type LockHolder,
  type LockNotAcquiredError,
  newClientId,
  partyOf,
  type PresentHolder,
} from 'nestjs-redis-lock/backend';
import type { BackendBench } from './backend-bench.js';
import type { ClientBench, WatchedMember } from './client-bench.js';
import { expect } from './expectations.js';
import type { Held, Party } from './party.js';

const shared: LockDemand = { kind: 'shared', permits: 1, limit: 0 };
const permitsOf = (limit: number): LockDemand => ({ kind: 'permits', permits: 1, limit });

/** The holder in a reply to a claim that did not get the lock. */
function holderIn(reply: AcquireReply): PresentHolder | undefined {
  if (reply.status === 'granted') throw new Error('the lock was granted');
  return reply.holder;
}

/** Claims that do not get the lock learn who has it. */
export function contention(bench: BackendBench): void {
  const { describe, it, inOrder, join, joinHearing, unique, capabilities } = bench;
  const expectHolder = (reply: AcquireReply, { id, fencingToken }: Held): void => {
    const holder = holderIn(reply);
    expect(holder).toMatchObject({ id });
    if (capabilities.dated) expect(holder!.heldFor).toBeGreaterThanOrEqual(0);
    else expect(holder!.heldFor).toBe(undefined);
    // Each server of a quorum has a token of its own.
    if (capabilities.fifo) expect(holder).toMatchObject({ fencingToken });
  };
  const tryOnce = (party: Party, name: string, demand?: LockDemand): Promise<AcquireReply> =>
    party.ask(party.claim(name), { enqueue: false, ...(demand && { demand }) });

  describe('a claim that does not get the lock gets its holder', () => {
    it('with the refusal: the claim, its token, and for how long it has held the lock', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.take(name);
      expectHolder(await tryOnce(b, name), held);
      if (capabilities.shared) expectHolder(await tryOnce(b, name, shared), held);
    });

    it('with its place in the queue, and each time that it asks', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.take(name);
      const claim = b.claim(name);
      for (let times = 0; times < 2; times++) expectHolder(await b.ask(claim), held);
    });

    inOrder('also when the holder got the lock while the claim was waiting, and has not confirmed it yet', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const held = await a.take(name);
      const next = await b.queue(name);
      const last = await c.queue(name);
      await a.release(held);
      const { fencingToken } = await b.pushed(next);
      expect(holderIn(await c.ask(last))).toMatchObject({ id: next.id, fencingToken });
    });

    it('also when the work of the holder is over, and minHold keeps the lock', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const held = await a.take(name);
      await a.release(held, 10_000);
      expectHolder(await tryOnce(b, name), held);
    });

    inOrder('which is the earliest of several readers, also of those that joined the lock anew', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const name = unique();
      const readers: Held[] = [];
      // The last to end, the first to end, and one between them.
      for (const lease of [60_000, 20_000, 40_000]) readers.push(await a.take(name, { demand: shared, lease }));
      for (const reader of readers) {
        expectHolder(await tryOnce(b, name), reader);
        await a.release(reader);
        readers.push(await c.take(name, { demand: shared }));
        if (readers.length === 6) break;
      }
    });

    inOrder('also behind a writer that waits for the readers', async () => {
      const [a, b, c] = [await join(), await joinHearing(), await join()];
      const name = unique();
      const reader = await a.take(name, { demand: shared });
      await b.queue(name);
      expectHolder(await tryOnce(c, name, shared), reader);
    });

    if (!capabilities.permits) return;
    it('which is the earliest of those that have permits', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const demand = permitsOf(2);
      const first = await a.take(name, { demand, lease: 60_000 });
      const second = await a.take(name, { demand, lease: 20_000 });
      expectHolder(await tryOnce(b, name, demand), first);
      await a.release(first);
      await a.take(name, { demand });
      expectHolder(await tryOnce(b, name, demand), second);
    });
  });
}

/** What gauges and health checks read. */
export function availability({ describe, it, join }: BackendBench): void {
  describe('the availability of the servers', () => {
    it('is reported without a command, from the start of a backend to its end', async () => {
      const a = await join();
      const { availability } = a.backend;
      if (!availability) return;
      const available = (): number => [...availability.call(a.backend)].filter(([, isAvailable]) => isAvailable).length;
      expect(available()).toBeGreaterThan(0);
      for (const [server] of availability.call(a.backend)) expect(server.length).toBeGreaterThan(0);
      await a.backend.close();
      expect(available()).toBe(0);
    });
  });
}

/** This host and process, as errors show them. */
const here = partyOf(newClientId());

/** Callers that do not get the lock learn who has it. */
export function refusedCallers(bench: ClientBench): void {
  const { describe, it, join, unique, capabilities } = bench;
  const refusalOf = (call: Promise<unknown>): Promise<LockNotAcquiredError> =>
    call.then(
      () => Promise.reject(new Error('the lock was granted')),
      (error: LockNotAcquiredError) => error,
    );
  const expectHolder = (
    error: LockNotAcquiredError,
    by: WatchedMember,
    work: { method?: string; label?: string },
  ): void => {
    const { holder } = error;
    const { method, label } = work;
    expect(holder).toMatchObject({ host: here.host, pid: process.pid, method, label });
    const claims = by.backend.acquires.map(({ id }) => id);
    expect(claims.some((id) => id.startsWith(holder!.client))).toBe(true);
    expect(error.message.includes(described(holder!))).toBe(true);
    // The claim gives access to the lock.
    for (const id of claims) expect(JSON.stringify([error, error.message]).includes(id.slice(0, 10))).toBe(false);
  };
  const [where, label] = ['Report.daily', "import 4711: 'ü' 100 %"];
  const reported = { ...lockDefaults, method: where, label, callerSuffix: callerSuffix(where, label) };

  describe('a caller that does not get the lock', () => {
    it('learns which method and process hold it, with which label and for how long: in the error and its message', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      const lock = await a.client.acquire(name, { ...reported, fairness: bench.fairness });
      for (const refused of [b, a]) {
        const error = await refusalOf(refused.acquire(name, { wait: 0 }));
        expect(error.code).toBe('LOCK_CONTENDED');
        expectHolder(error, a, { method: where, label });
        if (capabilities.fifo) expect(error.holder).toMatchObject({ fencingToken: lock.fencingToken });
      }
    });

    it('learns it too when it has waited in vain', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.client.acquire(name, { ...reported, fairness: bench.fairness });
      const error = await refusalOf(b.acquire(name, { wait: 60 }));
      expect(error.code).toBe('LOCK_WAIT_TIMEOUT');
      expectHolder(error, a, { method: where, label });
    });

    (capabilities.shared ? it : () => undefined)('learns it for a shared lock', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.acquire(name, { shared: true, label });
      expectHolder(await refusalOf(b.acquire(name, { wait: 0 })), a, { label });
    });

    if (!capabilities.permits) return;
    it('learns it for permits', async () => {
      const [a, b] = [await join(), await join()];
      const name = unique();
      await a.acquire(name, { limit: 1, label });
      expectHolder(await refusalOf(b.acquire(name, { limit: 1, wait: 0 })), a, { label });
    });
  });
}

const described = ({ method, label, host, pid, heldFor }: LockHolder): string => {
  const by = callerOf(method, label)!;
  const time = heldFor === undefined ? 'whose lease ends in ' : `for ${heldFor} ms`;
  return `held by ${by} (${host}, process ${pid}), ${time}`;
};
