import { describe, expect, it } from '@jest/globals';
import { until } from './observations.js';
import { watchdog } from './peer.js';
import { listenersOf } from './sites.js';
import { type Stage, unique } from './stage.js';

/** Rows 3 and 4: who is woken, and by what. */
export function messageRows(stage: Stage): void {
  describe('messages, without any poll', () => {
    it('an unlock of Java wakes a waiter here', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = stage.client.acquire(name, { wait: '1m' });
      await stage.listened(name);
      await stage.java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
    });

    it('an unlock of Java wakes a waiter here that has waited for long, and after it nothing is subscribed', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = stage.client.acquire(name, { wait: '1m' });
      await stage.listened(name);
      // Longer than a subscription without a waiter lasts.
      const end = performance.now() + 4_500;
      await until(async () => performance.now() > end);
      await stage.java.run('a', 'unlock', 'plain', name);
      await (await waiting).release();
      await until(async () => (await listenersOf(stage.site, name)) === 0);
    });

    it('a release here wakes a waiter of Java', async () => {
      const name = unique();
      const lock = await stage.client.acquire(name, { lease: '1h', renew: false });
      const waiting = stage.java.run('a', 'lock', 'plain', name);
      await stage.listened(name);
      await lock.release();
      expect(await waiting).toBe('held');
      await stage.java.run('a', 'unlock', 'plain', name);
    });

    // Row 13
    it('minHold: a waiter of Java has the lock when it ends, although its last reply named the whole lease', async () => {
      const name = unique();
      const lock = await stage.client.acquire(name, { lease: '1h', renew: false, minHold: 500 });
      const waiting = stage.java.run('a', 'lock', 'plain', name);
      await stage.listened(name);
      await lock.release();
      expect(await waiting).toBe('held');
      await stage.java.run('a', 'unlock', 'plain', name);
    });

    // Row 4
    it('a waiter here whose subscription was lost finds the lock by its poll', async () => {
      const name = unique();
      const polling = await stage.newClient({}, 300);
      await stage.java.run('a', 'lock', 'plain', name, 3_600_000);
      const waiting = polling.acquire(name, { wait: '1m' });
      await stage.listened(name);
      const server = await stage.site.serverOf(name);
      await server.multi().call('CLIENT', 'KILL', 'TYPE', 'pubsub').del(name).exec();
      await (await waiting).release();
      await polling.close();
    });

    it('a waiter of Java whose message was lost has the lock when the lease ends that it knew', async () => {
      const name = unique();
      await stage.client.acquire(name, { lease: watchdog, renew: false });
      const waiting = stage.java.run('a', 'lock', 'plain', name);
      await stage.listened(name);
      const server = await stage.site.serverOf(name);
      await server.multi().call('CLIENT', 'KILL', 'TYPE', 'pubsub').del(name).exec();
      expect(await waiting).toBe('held');
      await stage.java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    // Row 9
    it('a forced unlock by Java takes a lock from its holder here, and wakes the next', async () => {
      const name = unique();
      const node = await stage.startNode();
      await node.run('a', 'lock', 'plain', name);
      const waiting = stage.client.acquire(name, { wait: '1m' });
      await stage.listened(name);
      expect(await stage.java.run('a', 'force', 'plain', name)).toBe('true');
      const lock = await waiting;
      expect(await node.run('a', 'lost', 'plain', name)).toBe('revoked');
      await lock.release();
    });

    it('a forced release here takes a lock from its holder in Java, and wakes the next', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'plain', name);
      const holder = await stage.java.run('a', 'field', 'plain', name);
      const waiting = stage.java.run('b', 'lock', 'plain', name);
      await stage.listened(name);
      expect(await stage.client.forceRelease(name, { client: `${stage.java.id}:0` })).toBe(false);
      expect(await stage.client.forceRelease(name, { client: holder, reason: 'a ghost' })).toBe(true);
      expect(await waiting).toBe('held');
      expect(await stage.java.run('a', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
      await stage.java.run('b', 'unlock', 'plain', name);
    });

    it.each([
      ['read', 'write'],
      ['write', 'read'],
      ['write', 'write'],
    ])(
      'a forced release here takes a %s lock of Java, and wakes a thread that waits for a %s lock',
      async (held, next) => {
        const name = unique();
        await stage.java.run('a', 'lock', held, name, 3_600_000);
        const waiting = stage.java.run('b', 'lock', next, name);
        await until(async () => (await listenersOf(stage.site, name, 'redisson_rwlock')) > 0);
        await stage.java.run('c', 'parks', 'plain', 'b');
        expect(await stage.client.forceRelease(name)).toBe(true);
        expect(await waiting).toBe('held');
        await stage.java.run('b', 'unlock', next, name);
        expect(await stage.free(name)).toBe(true);
      },
    );
  });
}
