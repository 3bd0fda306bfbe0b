import { describe, expect, it } from '@jest/globals';
import type { LockNotAcquiredError } from 'nestjs-redis-lock/client';
import { until } from './observations.js';
import { watchdog } from './peer.js';
import { type Stage, unique } from './stage.js';

/** Rows 1 and 2: who has the lock, and who is refused. */
export function exclusionRows(stage: Stage): void {
  describe('exclusion', () => {
    it('a lock that Java holds is contended here, with a rest within its lease', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'plain', name);
      const refusal = await stage.client.acquire(name, { wait: 0 }).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'LOCK_CONTENDED' });
      const { leaseLeft } = refusal as { leaseLeft: number };
      expect(leaseLeft).toBeGreaterThan(0);
      expect(leaseLeft).toBeLessThanOrEqual(watchdog);
      await stage.java.run('a', 'unlock', 'plain', name);
    });

    it.each(['plain', 'fenced', 'spin', 'multi', 'fair'])(
      'a lock that is held here is not free for a %s lock of Java',
      async (kind) => {
        const name = unique();
        const lock = await stage.client.acquire(name);
        expect(await stage.java.run('a', 'try', kind, name)).toBe('no');
        await lock.release();
        expect(await stage.java.run('a', 'try', kind, name)).toBe('held');
        expect(await stage.client.tryAcquire(name)).toBeNull();
        await stage.java.run('a', 'unlock', kind, name);
      },
    );

    it('several names that are held here are one lock each for Java, and those of a multi lock of Java are so here', async () => {
      const names = [unique(), unique()];
      const locks = await stage.client.acquire(names);
      for (const name of names) expect(await stage.java.run('a', 'try', 'plain', name)).toBe('no');
      expect(await stage.java.run('a', 'try', 'multi', names.join())).toBe('no');
      await locks.release();
      expect(await stage.java.run('a', 'try', 'multi', names.join())).toBe('held');
      for (const name of names) expect(await stage.client.tryAcquire(name)).toBeNull();
      expect(await stage.client.tryAcquire(names)).toBeNull();
      await stage.java.run('a', 'unlock', 'multi', names.join());
      await (await stage.client.acquire(names, { wait: 0 })).release();
    });

    // Row 2
    it('four threads of Java and four callers of two processes here lose no update of a counter', async () => {
      const name = unique();
      const nodes = [await stage.startNode(), await stage.startNode()];
      const times = 60;
      const actors = ['a', 'b', 'c', 'd'];
      const done = [
        ...actors.map((actor) => stage.java.run(actor, 'add', 'plain', name, times)),
        ...actors.map((actor, index) => nodes[index % 2]!.run(actor, 'add', 'plain', name, times)),
      ];
      expect(new Set(await Promise.all(done))).toEqual(new Set(['ok']));
      expect(await stage.redis.get(`${name}:counter`)).toBe(String(8 * times));
    }, 120_000);

    // Row 8
    it('a lock that Java took three times is free here after its third unlock', async () => {
      const name = unique();
      for (let count = 0; count < 3; count++) await stage.java.run('a', 'lock', 'plain', name);
      const waiting = stage.client.acquire(name, { wait: '1m' });
      await stage.listened(name);
      for (let count = 0; count < 2; count++) {
        await stage.java.run('a', 'unlock', 'plain', name);
        expect(await stage.redis.hvals(name)).toEqual([String(2 - count)]);
      }
      await stage.java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
    });

    it('a lock that a flow here took three times is free for Java after the outermost release, and counts 1 throughout', async () => {
      const name = unique();
      const waiting = await stage.client.using(name, () =>
        stage.client.using(name, () =>
          stage.client.using(name, async () => {
            expect(await stage.redis.hvals(name)).toEqual(['1']);
            const asked = stage.java.run('a', 'lock', 'plain', name);
            await stage.listened(name);
            return { asked };
          }),
        ),
      );
      expect(await waiting.asked).toBe('held');
      await stage.java.run('a', 'unlock', 'plain', name);
    });

    it('a caller that did not get a lock of Java learns its field and the rest of its lease, and no token or time', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'plain', name);
      const field = await stage.java.run('a', 'field', 'plain', name);
      expect(field.startsWith(`${stage.java.id}:`)).toBe(true);
      const refused = { holder: { client: field, host: undefined, fencingToken: undefined, heldFor: undefined } };
      for (const [wait, code] of [
        [0, 'LOCK_CONTENDED'],
        [150, 'LOCK_WAIT_TIMEOUT'],
      ] as const) {
        const error = (await stage.client
          .acquire(name, { wait })
          .catch((reason: unknown) => reason)) as LockNotAcquiredError;
        expect(error).toMatchObject({ code, ...refused });
        expect(error.leaseLeft).toBeGreaterThan(0);
        expect(error.leaseLeft).toBeLessThanOrEqual(watchdog);
        expect(error.message).toContain(`held by client ${field}, whose lease ends in ${error.leaseLeft} ms`);
      }
      const { kind, holders } = await stage.client.inspect(name);
      expect({ kind, holders }).toEqual({
        kind: 'exclusive',
        holders: [
          expect.objectContaining({ client: field, fencingToken: undefined, heldFor: undefined, state: 'held' }),
        ],
      });
      await stage.java.run('a', 'unlock', 'plain', name);
    });

    // Row 17
    it.each(['read', 'write'])('a name that Java uses as a %s lock is refused', async (kind) => {
      const name = unique();
      await stage.java.run('a', 'lock', kind, name);
      await expect(stage.client.acquire(name, { wait: '1m' })).rejects.toMatchObject({
        code: 'LOCK_KIND_MISMATCH',
        message: expect.stringContaining('read or write lock'),
      });
      await stage.java.run('a', 'unlock', kind, name);
    });

    it.each(['read', 'write'])('a %s lock of Java takes no notice of a holder here', async (kind) => {
      const name = unique();
      const lock = await stage.client.acquire(name);
      expect(await stage.java.run('a', 'lock', kind, name)).toBe('held');
      await lock.renew();
      expect(lock.isHeld).toBe(true);
      await stage.redis.del(name);
    });

    it('a name for which threads of Java wait as a fair lock is refused, held or free, until the last has left', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'fair', name);
      const [waiting, times] = [stage.java.run('b', 'lock', 'fair', name), `redisson_lock_timeout:{${name}}`];
      await until(async () => (await stage.redis.zcard(times)) === 1);
      const refused = { code: 'LOCK_KIND_MISMATCH', message: expect.stringContaining('fair lock') };
      await expect(stage.client.acquire(name, { wait: '1m' })).rejects.toMatchObject(refused);
      // What is left when the one that holds it has died.
      const crashed = unique();
      await stage.redis.zadd(`redisson_lock_timeout:{${crashed}}`, Date.now() + 60_000, 'b');
      await expect(stage.client.acquire(crashed)).rejects.toMatchObject(refused);
      await stage.java.run('a', 'unlock', 'fair', name);
      expect(await waiting).toBe('held');
      await expect(stage.client.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      await stage.java.run('b', 'unlock', 'fair', name);
      await (await stage.client.acquire(name)).release();
    });

    it('a waiter of a fair lock that counts as gone in Java does not keep the lock from callers here', async () => {
      const name = unique();
      await stage.redis.zadd(`redisson_lock_timeout:{${name}}`, Date.now() - 60_000, 'b');
      await (await stage.client.acquire(name, { wait: 0 })).release();
    });

    it.each([{ shared: true }, { limit: 2 }])('%p is refused with the reason', async (options) => {
      await expect(stage.client.acquire(unique(), options)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    });
  });
}
