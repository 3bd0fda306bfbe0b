import { expect, it } from '@jest/globals';
import { backlogRows } from './backlog-rows.js';
import { exclusionRows } from './exclusion-rows.js';
import { lateRows } from './late-rows.js';
import { leaseRows } from './lease-rows.js';
import { messageRows } from './message-rows.js';
import type { PeerProgram } from './peer.js';
import { oneRedis, type Site } from './sites.js';
import { Stage, unique } from './stage.js';

/** This library and Redisson side by side. Each test both ways where that has a meaning. */
export function matrix(open: () => Promise<PeerProgram>, start: () => Promise<Site> = oneRedis): void {
  const stage = new Stage(open, start);
  exclusionRows(stage);
  messageRows(stage);
  leaseRows(stage);
  lateRows(stage);

  // Row 14
  it('a lock that is handed over from process to process is never free for Java in between', async () => {
    const name = unique();
    const other = await stage.newClient();
    const lock = await stage.client.acquire(name);
    const waiting = stage.java.ask('a', 'lock', 'plain', name);
    await stage.listened(name);
    const ticket = await lock.export();
    let ended = 0n;
    await other.adopt(ticket, async () => {
      expect(await stage.redis.hlen(name)).toBe(1);
      ended = process.hrtime.bigint();
    });
    expect((await waiting).at).toBeGreaterThan(ended);
    await stage.java.run('a', 'unlock', 'plain', name);
    await other.close();
  });

  // Row 15
  it('with shared tokens, those of Java and of this library increase over both', async () => {
    const name = unique();
    const fenced = await stage.newClient({ redisson: { tokens: 'fenced' } });
    const tokens: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      tokens.push(Number(await stage.java.run('a', 'token', 'fenced', name)));
      await stage.java.run('a', 'unlock', 'fenced', name);
      const lock = await fenced.acquire(name);
      tokens.push(lock.fencingToken);
      await lock.release();
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((one, other) => one - other));
    await fenced.close();
  });

  backlogRows(stage);
}
