import { describe, expect, it } from '@jest/globals';
import { QuorumBackend } from '../../../lib/backends/quorum/quorum-backend.js';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { VirtualClock } from '../../support/virtual-clock.js';

async function open() {
  const clock = new VirtualClock();
  const nodes = [1, 2, 3].map((number) => {
    const node = new MemoryLockBackend({ server: new MemoryLockServer({ clock }) });
    // The quorum tells its nodes apart by their labels.
    return Object.assign(node, { label: `node ${number}` });
  });
  const quorum = new QuorumBackend({ nodes, log: new KeptLog() });
  const starting = quorum.start('client', { granted: () => undefined, recovered: () => undefined });
  await clock.advance(1);
  await starting;
  return { clock, nodes, quorum };
}

const report = (process: string, text: string) => ({ process, text, rank: 0, lasts: 60_000 });

describe('the reports of processes, over a quorum', () => {
  it('are the newest one of each process that a node has', async () => {
    const { clock, nodes, quorum } = await open();
    await quorum.report(report('a', 'old'));
    await clock.advance(1_000);
    // The other nodes missed it.
    await nodes[1]!.report(report('a', 'new'));
    await nodes[2]!.report(report('b', 'alone'));
    const { total, reports } = await quorum.reports(10);
    expect(total).toBe(2);
    expect(new Map(reports.map(({ process, text }) => [process, text]))).toEqual(
      new Map([
        ['a', 'new'],
        ['b', 'alone'],
      ]),
    );
  });

  it('are kept and read while one node can be reached, and rejected without any', async () => {
    const { nodes, quorum } = await open();
    for (const { server } of nodes.slice(1)) server.faults.unavailable('1h');
    await quorum.report(report('a', 'text'));
    expect((await quorum.reports(10)).reports.map(({ text }) => text)).toEqual(['text']);
    nodes[0]!.server.faults.unavailable('1h');
    await expect(quorum.reports(10)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(quorum.report(report('a', 'text'))).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});
