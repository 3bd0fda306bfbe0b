import { describe, expect, it } from '@jest/globals';
import { until } from './observations.js';
import { watchdog } from './peer.js';
import { type Stage, unique } from './stage.js';

/** Holders that renew, stand still or die. */
export function leaseRows(stage: Stage): void {
  describe('leases', () => {
    // Row 5
    it('a holder in Java that renews keeps a waiter here out for several leases, and the other way round', async () => {
      const [javas, ours] = [unique(), unique()];
      await stage.java.run('a', 'lock', 'plain', javas);
      const lock = await stage.client.acquire(ours);
      const [end, order]: [number, string[]] = [performance.now() + 2.5 * watchdog, []];
      const waiting = [
        stage.client.acquire(javas, { wait: '1m' }).then((next) => {
          order.push('node');
          return next.release();
        }),
        stage.java.run('b', 'lock', 'plain', ours).then(() => {
          order.push('java');
          return stage.java.run('b', 'unlock', 'plain', ours);
        }),
      ];
      await until(async () => performance.now() > end);
      expect(order).toEqual([]);
      await Promise.all([stage.java.run('a', 'unlock', 'plain', javas), lock.release()]);
      await Promise.all(waiting);
    }, 40_000);

    it("renewFrom: 'worker' keeps a lock from Java while the event loop of its holder is blocked beyond the lease", async () => {
      const name = unique();
      const node = await stage.startNode({ renewFrom: 'worker' });
      await node.run('a', 'lock', 'plain', name);
      const waiting = stage.java.ask('a', 'lock', 'plain', name);
      await stage.listened(name);
      expect(await node.run('b', 'block', 'plain', name, 1.7 * watchdog)).toBe('ok');
      const released = process.hrtime.bigint();
      expect(await node.run('a', 'unlock', 'plain', name)).toBe('ok');
      expect((await waiting).at).toBeGreaterThan(released);
      await stage.java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    // Row 6
    it('a lock whose holder in Java is killed is free here at the end of its lease', async () => {
      const name = unique();
      const dying = await stage.startJava();
      await dying.run('a', 'lock', 'plain', name);
      const waiting = stage.client.acquire(name, { wait: '1m' });
      await stage.listened(name);
      await dying.kill();
      await (await waiting).release();
    }, 40_000);

    it('a lock whose holder here is killed is free for Java at the end of its lease', async () => {
      const name = unique();
      const dying = await stage.startNode();
      await dying.run('a', 'lock', 'plain', name);
      const waiting = stage.java.run('a', 'lock', 'plain', name);
      await stage.listened(name);
      await dying.kill();
      expect(await waiting).toBe('held');
      await stage.java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    // Row 7
    it('a holder here that was paused beyond its lease knows that it lost the lock to Java', async () => {
      const name = unique();
      const paused = await stage.startNode();
      await paused.run('a', 'lock', 'plain', name);
      paused.pause();
      expect(await stage.java.run('a', 'lock', 'plain', name)).toBe('held');
      paused.resume();
      expect(await paused.run('a', 'lost', 'plain', name)).toMatch(/./);
      expect(await paused.run('a', 'unlock', 'plain', name)).toBe('!lost');
      expect(await stage.redis.hlen(name)).toBe(1);
      await stage.java.run('a', 'unlock', 'plain', name);
    }, 40_000);

    it('an unlock of a holder in Java that was paused beyond its lease is refused, and takes nothing from the holder here', async () => {
      const name = unique();
      const paused = await stage.startJava();
      await paused.run('a', 'lock', 'plain', name, 700);
      paused.pause();
      const lock = await stage.client.acquire(name, { wait: '1m' });
      paused.resume();
      expect(await paused.run('a', 'unlock', 'plain', name)).toBe('!IllegalMonitorStateException');
      await lock.renew();
      expect(lock.isHeld).toBe(true);
      await lock.release();
    }, 40_000);

    // Row 20
    it('fixed leases end on both sides', async () => {
      const name = unique();
      await stage.java.run('a', 'lock', 'plain', name, 500);
      await stage.client.acquire(name, { wait: '1m', lease: 500, renew: false });
      expect(await stage.java.run('a', 'lock', 'plain', name)).toBe('held');
      await stage.java.run('a', 'unlock', 'plain', name);
    });

    // Row 16
    it.each(['spin', 'fair'])(
      'a %s lock of Java is found free here at the end of its lease at the latest',
      async (kind) => {
        const name = unique();
        await stage.java.run('a', 'lock', kind, name, 700);
        await (await stage.client.acquire(name, { wait: '1m' })).release();
        expect(await stage.free(name)).toBe(true);
      },
    );
  });
}
