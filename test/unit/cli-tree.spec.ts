import { describe, expect, it } from '@jest/globals';
import { WaitGraph } from '../../lib/cli/tree.js';
import type { LockInfo } from '../../lib/core/lock-info.js';

const plain = (text: string): string => text;
const paint = { dim: plain, bold: plain, red: plain };

const party = (pid: number) => ({ client: `c${pid}`, host: 'web', pid, method: undefined, label: undefined });

/** `'a': 1 < 2, 3`: process 1 holds, 2 and 3 wait. */
const lock = (key: string, holders: number[], waiters: number[]): LockInfo => ({
  key,
  kind: 'exclusive',
  limit: undefined,
  holders: holders.map((pid, index) => ({
    ...party(pid),
    fencingToken: index + 1,
    heldFor: 4_000,
    leaseLeft: 20_000,
    state: 'held',
    permits: 1,
  })),
  waiters: waiters.map((pid) => ({ ...party(pid), waited: 1_000, kind: 'exclusive', permits: 1, reachable: true })),
});

describe('the tree of waits', () => {
  it('goes from the process that does not wait to those that wait for it, over several locks', () => {
    const graph = new WaitGraph([lock('b', [2], [3]), lock('a', [1], [2, 4])]);
    expect(graph.lines(paint)).toEqual([
      'web:1',
      '  holds a for 4.0s, token 1',
      '    web:2 waits for 1.0s',
      '      holds b for 4.0s, token 1',
      '        web:3 waits for 1.0s',
      '    web:4 waits for 1.0s',
    ]);
    expect(graph.cycles()).toEqual([]);
  });

  it('names each circle once, and marks those in it', () => {
    const graph = new WaitGraph([lock('a', [1], [2, 9]), lock('b', [2], [3]), lock('c', [3], [1])]);
    expect(graph.cycles()).toEqual([['web:1', 'a', 'web:2', 'b', 'web:3', 'c']]);
    const lines = graph.lines(paint);
    expect(lines.filter((line) => line.includes('(circle)'))).toHaveLength(3);
    expect(lines.find((line) => line.includes('web:9'))).not.toContain('(circle)');
    expect(lines.at(-1)).toMatch(/^Circle: web:1 → a → web:2 → b → web:3 → c → web:1\. A deadlock, if /);
  });

  it('takes callers of one process that wait for each other for no circle', () => {
    expect(new WaitGraph([lock('a', [1], [1, 2])]).cycles()).toEqual([]);
  });

  it('shows each reader of a shared lock as a holder', () => {
    expect(new WaitGraph([lock('a', [1, 2], [3])]).lines(paint)).toEqual([
      'web:1',
      '  holds a for 4.0s, token 1',
      '    web:3 waits for 1.0s',
      'web:2',
      '  holds a for 4.0s, token 2',
      '    web:3 waits for 1.0s',
    ]);
  });
});
