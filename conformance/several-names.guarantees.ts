import { aborted, type ClientBench } from './client-bench.js';
import { expect, thrownBy } from './expectations.js';
import { turn } from './time.js';

/** Several names in one acquisition. */
export function severalNames(bench: ClientBench): void {
  const { describe, it, join, unique } = bench;
  /** Some names, in order. */
  const names = (count: number): string[] => {
    const root = unique();
    return Array.from({ length: count }, (_, index) => `${root}:${index}`);
  };
  describe('several names', () => {
    it('are taken together, in one order, each once and with its own token, and released together', async () => {
      const [a, b] = [await join(), await join()];
      const [first, second, third] = names(3) as [string, string, string];
      const lock = await a.acquire([third, first, second, first]);
      expect(lock).toMatchObject({ keys: [first, second, third], key: first, depth: 1, isHeld: true });
      expect([...lock.fencingTokens.keys()]).toEqual([first, second, third]);
      expect(lock.fencingTokens.get(first)).toBe(lock.fencingToken);
      for (const name of [first, second, third]) {
        await expect(b.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      }
      await lock.release();
      expect(lock.isHeld).toBe(false);
      expect(lock.signal.aborted).toBe(false);
      for (const [name, token] of lock.fencingTokens) {
        expect((await b.acquire(name, { wait: 0 })).fencingToken).toBeGreaterThan(token);
      }
    });

    it('are granted all or none: a refused try leaves nothing behind, and names the contended one', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const [first, second, third] = names(3) as [string, string, string];
      await b.acquire(second);
      await expect(a.acquire([first, second, third], { wait: 0 })).rejects.toMatchObject({
        code: 'LOCK_CONTENDED',
        key: second,
      });
      await c.acquire(first, { wait: 0 });
      await c.acquire(third, { wait: 0 });
    });

    it('are waited for in order, without holding later names, and `wait` covers all of them', async () => {
      const [a, b, c] = [await join(), await join(), await join()];
      const [first, second, third] = names(3) as [string, string, string];
      const held = await b.acquire(second);
      const all = a.acquire([first, second, third], { wait: '15s' });
      await a.backend.until(() => a.backend.waiting(second) > 0);
      await (await c.acquire(third, { wait: 0 })).release();
      await expect(c.acquire(first, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await held.release();
      await (await all).release();

      await b.acquire(third);
      await expect(a.acquire([first, second, third], { wait: 500 })).rejects.toMatchObject({
        code: 'LOCK_WAIT_TIMEOUT',
        key: third,
      });
      await c.acquire(first, { wait: 0 });
      await c.acquire(second, { wait: 0 });
    });

    it('given in opposite orders never deadlock, over many rounds of two processes', async () => {
      const both = [await join(), await join()];
      const [first, second] = names(2) as [string, string];
      let inside = 0;
      let rounds = 0;
      await Promise.all(
        both.map(async (member, index) => {
          for (let round = 0; round < 10; round++) {
            const lock = await member.acquire(index === 0 ? [first, second] : [second, first], { wait: '15s' });
            expect(++inside).toBe(1);
            await turn(bench.time);
            expect(lock.isHeld).toBe(true);
            inside--;
            rounds++;
            await lock.release();
          }
        }),
      );
      expect(rounds).toBe(20);
    });

    it('in random sets are never held twice and never deadlock: transfers between accounts lose nothing', async () => {
      const members = await Promise.all(Array.from({ length: 3 }, () => join()));
      const accounts = names(4);
      const balances = new Map(accounts.map((account) => [account, 100]));
      let seed = 7;
      const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
      const transfer = async (index: number): Promise<void> => {
        const from = random(accounts.length);
        const to = (from + 1 + random(accounts.length - 1)) % accounts.length;
        const key = [accounts[from]!, accounts[to]!];
        const lock = await members[index % members.length]!.acquire(key, { wait: '20s' });
        const before = key.map((account) => balances.get(account)!);
        await turn(bench.time);
        expect(lock.isHeld).toBe(true);
        balances.set(key[0]!, before[0]! - 1);
        balances.set(key[1]!, before[1]! + 1);
        await lock.release();
      };
      await Promise.all(Array.from({ length: 30 }, (_, index) => transfer(index)));
      expect([...balances.values()].reduce((sum, balance) => sum + balance, 0)).toBe(400);
    });

    it('are re-entered in part, and only the missing names are requested', async () => {
      const [a, b] = [await join(), await join()];
      const [first, second, third] = names(3) as [string, string, string];
      const outer = await a.enter([first, second]);
      await outer.run(async () => {
        expect(a.client.current()).toBe(outer.lock);
        expect(a.client.current(second)?.fencingToken).toBe(outer.lock.fencingTokens.get(second));
        const { requests } = a.backend;
        const part = await a.enter(second);
        expect(part.lock.depth).toBe(2);
        const same = await a.enter([second, first]);
        expect(same.lock.depth).toBe(2);
        expect(a.backend.requests).toBe(requests);
        const more = await a.enter([second, third]);
        expect(more.lock.depth).toBe(1);
        expect(a.backend.requests).toBe(requests + 1);
        for (const scope of [more, same, part]) await scope.leave('worked');
        await b.acquire(third, { wait: 0 });
        expect(outer.lock.isHeld).toBe(true);
        await expect(b.acquire(second, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      });
      await outer.leave('worked');
      await b.acquire([first, second], { wait: 0 });
    });

    it('are lost as a whole when the first of them is lost', async () => {
      const [a, thief] = [await join(), await join()];
      const [first, second] = names(2) as [string, string];
      const scope = await a.enter([first, second], { lease: 2_400, renew: true });
      const { lock } = scope;
      const { id: claim } = a.backend.acquires.find(({ name }) => name === second)!;
      // Takes the name away by force: here with the claim's own id.
      await thief.backend.release({ name: second, id: claim });
      const reason = await aborted(lock);
      expect(reason).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked', key: second });
      expect(lock).toMatchObject({ isHeld: false, leaseLeft: 0 });
      expect(thrownBy(() => lock.assertHeld())).toBe(reason);
      await expect(lock.renew()).rejects.toBe(reason);
      await expect(scope.leave('worked')).rejects.toBe(reason);
      await thief.acquire([first, second], { wait: 0 });
    });
  });
}
