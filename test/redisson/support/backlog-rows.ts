import { describe, expect, it } from '@jest/globals';
import { until } from './observations.js';
import type { Peer } from './peer.js';
import { type Stage, unique } from './stage.js';

/** Row 19: processes that always have callers. */
export function backlogRows(stage: Stage): void {
  describe('an endless backlog', () => {
    /** The turns of this library at a lock since now: each writes a field. Callers of one process pass the lock on inside a turn. */
    const turnsAt = async (name: string): Promise<() => number> => {
      const server = await stage.site.serverOf(name);
      await server.config('SET', 'notify-keyspace-events', 'Kh');
      const events = server.duplicate();
      stage.extra.push({ [Symbol.asyncDispose]: async () => events.disconnect() });
      let turns = 0;
      events.on('message', (_, event) => void (turns += event === 'hset' ? 1 : 0));
      await events.subscribe(`__keyspace@0__:${name}`);
      return () => turns;
    };
    const forEver = process.hrtime.bigint() + 3_600_000_000_000n;

    /** The turns here while a thread of Java has the lock so often. @param inside ms for which a caller here has it */
    const turnsBeside = async (grants: number, nodes: readonly Peer[], inside: number): Promise<number> => {
      const name = unique();
      const turns = await turnsAt(name);
      for (const node of nodes)
        for (const actor of ['a', 'b', 'c', 'd'])
          void node.run(actor, 'beat', 'plain', name, forEver, inside).catch(() => undefined);
      await until(async () => turns() > 0);
      const before = turns();
      expect(await stage.java.run('a', 'add', 'plain', name, grants)).toBe('ok');
      const beside = turns() - before;
      // They were there all the time.
      await until(async () => turns() > before + beside);
      return beside;
    };

    it('here leaves the lock to a thread of Java that waits: in a hundred grants of it this process has a thousand turns at most', async () => {
      expect(await turnsBeside(100, [await stage.startNode()], 0)).toBeLessThan(1000);
    }, 60_000);

    it('in four processes here leaves it the lock, too: in thirty grants of it they have ninety turns at most', async () => {
      const nodes = await Promise.all([stage.startNode(), stage.startNode(), stage.startNode(), stage.startNode()]);
      expect(await turnsBeside(30, nodes, 12)).toBeLessThan(90);
    }, 60_000);

    it('in Java does not keep a caller here out: it has the lock a hundred times', async () => {
      const name = unique();
      const crowd = await stage.startJava();
      const node = await stage.startNode();
      for (const actor of ['a', 'b', 'c', 'd'])
        void crowd.run(actor, 'beat', 'plain', name, forEver).catch(() => undefined);
      await until(async () => (await stage.redis.exists(name)) === 1);
      expect(await node.run('a', 'add', 'plain', name, 100)).toBe('ok');
    }, 60_000);
  });
}
