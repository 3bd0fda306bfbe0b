import { describe, expect, it } from '@jest/globals';
import { linesOf } from '../../lib/cli/tree.js';
import type { WaitedForLock } from '../../lib/operators/activity-record.js';
import { Turns } from '../../lib/diagnostics/turns.js';
import { pictureOf, overviewOf } from '../../lib/console/overview.js';
import type { SeenProcess } from '../../lib/operators/wait-graph.js';
import { type WaitedLock, waitTree } from '../../lib/operators/wait-tree.js';
import { flow, processAt, waits } from '../support/fleet-activity.js';

const treeOf = (processes: readonly SeenProcess[]) => waitTree(processes, new Turns());
const plain = (text: string): string => text;
const paint = { dim: plain, bold: plain, red: plain };

describe('who waits for whom', () => {
  it('is a chain from a holder that waits for no one', async () => {
    const { roots, deadlocks } = await treeOf([
      processAt('a', [waits('invoice', 9_000, ['report'])]),
      processAt('b', [waits('report', 5_000, [], 'a')]),
    ]);
    expect(deadlocks).toBe(0);
    expect(roots).toHaveLength(1);
    const [root] = roots;
    expect(root).toMatchObject({ key: 'invoice', isDeadlock: false, holder: { host: 'h', fencingToken: 1 } });
    expect(root!.waiters).toMatchObject([
      { host: 'a', longest: 9_000, blocks: [{ key: 'report', waiters: [{ host: 'b' }] }] },
    ]);
  });

  it('is a deadlock where each holds what the next one waits for, shown once and to its end', async () => {
    const { roots, deadlocks, circles } = await treeOf([
      processAt('a', [waits('x', 2_000, ['y'], 'b')]),
      processAt('b', [waits('y', 1_000, ['x'], 'a')]),
      processAt('c', [waits('free', 500)]),
    ]);
    expect(deadlocks).toBe(1);
    expect(roots.map(({ key, isDeadlock }) => [key, isDeadlock])).toEqual([
      ['x', true],
      ['free', false],
    ]);
    const inner = roots[0]!.waiters[0]!.blocks[0]!;
    expect(inner).toMatchObject({ key: 'y', isDeadlock: true, isRepeated: false });
    expect(inner.waiters[0]!.blocks[0]).toMatchObject({ key: 'x', isRepeated: true, waiters: [] });
    const steps = circles[0]!.map(({ host, holds, waitsFor }) => [holds.key, host, waitsFor.key].join(' '));
    expect(steps.sort()).toEqual(['x b y', 'y a x']);
  });

  it('shows the waiters first that block others, however short they have waited', async () => {
    const queue = Array.from({ length: 20 }, (_, index) => processAt(`p${index}`, [waits('x', 5_000 + index)]));
    const { roots } = await treeOf([
      ...queue,
      processAt('blocker', [waits('x', 1, ['y'])]),
      processAt('z', [waits('y', 1)]),
    ]);
    expect(roots[0]!.waiters[0]).toMatchObject({ host: 'blocker', blocks: [{ key: 'y' }] });
  });

  it('shows chains before plain queues, which may be many', async () => {
    const queues = Array.from({ length: 300 }, (_, index) => processAt(`p${index}`, [waits(`k${index}`, 9_000)]));
    const { roots, more } = await treeOf([
      ...queues,
      processAt('a', [waits('invoice', 10, ['report'])]),
      processAt('b', [waits('report', 10)]),
    ]);
    expect(roots[0]).toMatchObject({ key: 'invoice', waiters: [{ blocks: [{ key: 'report' }] }] });
    expect(roots.length + more).toBe(301);
  });

  it('shows who waits for a lock where there is room, also when a longer chain ends before it', async () => {
    const chain = Array.from({ length: 12 }, (_, index) =>
      processAt(`p${index}`, [waits(`k${index}`, 9_000 - index, [`k${index + 1}`])]),
    );
    const { roots } = await treeOf([...chain, processAt('q', [waits('r', 1, ['k10'])])]);
    const short = roots.find(({ key }) => key === 'r')!;
    expect(short.waiters[0]!.blocks).toMatchObject([{ key: 'k10', isRepeated: false, waiters: [{ client: 'p10' }] }]);
  });

  it('is a deadlock each for two rings, one of which waits for the other', async () => {
    const { deadlocks, circles } = await treeOf([
      processAt('a', [waits('x', 2_000, ['y'], 'b')]),
      processAt('b', [waits('y', 2_000, ['x'], 'a')]),
      processAt('c', [waits('v', 2_000, ['w'], 'd'), waits('x', 2_000, ['w'], 'b')]),
      processAt('d', [waits('w', 2_000, ['v'], 'c')]),
    ]);
    expect(deadlocks).toBe(2);
    expect(circles.map((steps) => new Set(steps.map(({ host }) => host)))).toEqual([
      new Set(['a', 'b']),
      new Set(['c', 'd']),
    ]);
  });

  it('has every lock of a circle of which it is not certain whether it is one', async () => {
    const { roots } = await treeOf([
      processAt('a', [{ ...waits('x', 2_000, ['y']), kind: 'permits' }]),
      processAt('b', [{ ...waits('y', 1_000, ['x']), kind: 'permits' }]),
    ]);
    expect(roots).toMatchObject([{ key: 'x', waiters: [{ blocks: [{ key: 'y', waiters: [{ host: 'b' }] }] }] }]);
  });
});

/** What both faces say of a fleet: how many deadlocks, and how many lines of the command line name one. */
async function seen(processes: SeenProcess[]): Promise<{ console: number; red: number; tree: number; marked: number }> {
  const turns = new Turns();
  const { waits: shown } = await overviewOf(await pictureOf(processes, turns), 0, turns);
  const lines = linesOf(await treeOf(processes), paint);
  const red = JSON.stringify(shown.roots).match(/"isDeadlock":true/g)?.length ?? 0;
  const count = (text: string): number => lines.filter((line) => line.includes(text)).length;
  return { console: shown.deadlocks, red, tree: count('Deadlock: '), marked: count('(deadlock)') };
}

const shared = (lock: WaitedForLock): WaitedForLock => ({ ...lock, kind: 'shared' });
const permits = (lock: WaitedForLock): WaitedForLock => ({ ...lock, kind: 'permits' });

describe('a deadlock, in the console and on the command line', () => {
  it.each<[string, SeenProcess[]]>([
    [
      'of two processes that nest two locks in both orders',
      [processAt('a', [waits('x', 2_000, ['y'], 'b')]), processAt('b', [waits('y', 1_000, ['x'], 'a')])],
    ],
    ['of two flows of one process', [processAt('a', [waits('x', 2_000, ['y'], 'a'), waits('y', 1_000, ['x'], 'a')])]],
    [
      'of three processes in a ring, inside further locks',
      [
        processAt('a', [waits('x', 2_000, ['other', 'z'], 'b')]),
        processAt('b', [waits('y', 1_000, ['x'], 'c')]),
        processAt('c', [waits('z', 1_000, ['y', 'more'], 'a')]),
      ],
    ],
    [
      'of a caller behind others that wait for the same lock',
      [
        processAt('a', [{ ...waits('x', 9_000, [], 'b'), callers: 3, flows: [flow(8_000, 'q'), flow(2_000, 'y')] }]),
        processAt('b', [waits('y', 1_000, ['x'], 'a')]),
      ],
    ],
    [
      'of a writer behind two readers, one of which waits for it',
      [
        processAt('writer', [waits('page', 2_000, ['y'], 'reader')]),
        processAt('stuck', [{ ...waits('y', 1_000, [], 'writer'), flows: [flow(1_000, 'page/shared')] }]),
      ],
    ],
    [
      'that processes tell at different times, while both waits last',
      [
        processAt('a', [waits('x', 9_000, ['y'], 'b')], { age: 4_000 }),
        processAt('b', [waits('y', 6_000, ['x'], 'a')], { age: 100 }),
      ],
    ],
  ])('%s', async (_what, processes) => {
    const { console, red, tree, marked } = await seen(processes);
    expect({ console, tree }).toEqual({ console: 1, tree: 1 });
    expect(red).toBeGreaterThan(0);
    expect(marked).toBeGreaterThan(0);
  });

  it.each<[string, SeenProcess[]]>([
    ['a queue', [processAt('a', [waits('x', 2_000)]), processAt('b', [waits('x', 1_000)])]],
    ['a chain', [processAt('a', [waits('x', 2_000, ['y'])]), processAt('b', [waits('y', 1_000, ['z'], 'a')])]],
    [
      'two processes that hold for each other, in other flows than those that wait',
      [processAt('a', [waits('x', 2_000, [], 'b')]), processAt('b', [waits('y', 1_000, [], 'a')])],
    ],
    [
      'callers that hold other locks than those that are waited for',
      [processAt('a', [waits('x', 2_000, ['mine'], 'b')]), processAt('b', [waits('y', 1_000, ['yours'], 'a')])],
    ],
    [
      'a ring of which one flow does not wait inside of its lock',
      [
        processAt('a', [waits('x', 2_000, ['z'], 'b')]),
        processAt('b', [waits('y', 2_000, ['x'], 'c')]),
        processAt('c', [waits('z', 2_000, [], 'a')]),
      ],
    ],
    [
      'a lock that someone else holds by now',
      [processAt('a', [waits('x', 2_000, ['y'], 'b')]), processAt('b', [waits('y', 1_000, ['x'], 'c')])],
    ],
    [
      'waits that followed each other',
      [
        processAt('a', [waits('x', 2_000, ['y'], 'b')], { age: 5_000 }),
        processAt('b', [waits('y', 3_000, ['x'], 'a')], { age: 0 }),
      ],
    ],
    [
      'a ring of waits of which two never lasted at one moment',
      [
        processAt('a', [waits('x', 2_000, ['z'], 'b')], { age: 8_000 }),
        processAt('b', [waits('y', 3_000, ['x'], 'c')], { age: 0 }),
        processAt('c', [waits('z', 20_000, ['y'], 'a')], { age: 0 }),
      ],
    ],
    [
      'a ring of waits of which one began when another one may have been over',
      [
        processAt('a', [waits('x', 2_000, ['y'], 'c')], { age: 8_000 }),
        processAt('b', [waits('y', 3_000, ['z'], 'a')], { age: 0 }),
        processAt('c', [waits('z', 20_000, ['x'], 'b')], { age: 0 }),
      ],
    ],
    [
      'permits, of which another one may become free',
      [
        processAt('a', [permits({ ...waits('x', 2_000, [], 'b'), flows: [flow(2_000, 'y/permits')] })]),
        processAt('b', [permits({ ...waits('y', 1_000, [], 'a'), flows: [flow(1_000, 'x/permits')] })]),
      ],
    ],
    [
      'holders that are not known yet',
      [
        processAt('a', [{ ...waits('x', 2_000, ['y']), holder: undefined }]),
        processAt('b', [{ ...waits('y', 1_000, ['x']), holder: undefined }]),
      ],
    ],
    [
      'readers behind a writer that waits for none of them',
      [
        processAt('a', [shared(waits('page', 2_000, ['x'], 'writer'))]),
        processAt('b', [shared(waits('page', 1_000, ['y'], 'writer'))]),
        processAt('c', [waits('x', 1_000, ['y'], 'a')]),
      ],
    ],
    [
      'two callers of one process, one of which waits for the other',
      [processAt('a', [waits('x', 2_000, ['y'], 'a'), waits('y', 1_000, [], 'a')])],
    ],
  ])('is none: %s', async (_what, processes) => {
    expect(await seen(processes)).toEqual({ console: 0, red: 0, tree: 0, marked: 0 });
  });
});

describe('the wait graph of a large fleet', () => {
  /** Each process waits for ten names, with three locks inside each waiter. */
  const nested = (size: number): SeenProcess[] =>
    Array.from({ length: size }, (_, host) =>
      processAt(
        `p${host}`,
        Array.from({ length: 10 }, (_key, index) => {
          const inside = [1, 2, 3].map((step) => `k${(host * 10 + index + step) % (size * 10)}`);
          return waits(`k${host * 10 + index}`, 10_000 + index, inside, `p${Math.floor((host * 10 + index - 1) / 10)}`);
        }),
      ),
    );

  it('takes work in proportion to its size', async () => {
    const stepsOf = async (size: number): Promise<number> => {
      const turns = new Turns();
      await waitTree(nested(size), turns);
      return turns.steps;
    };
    const [one, ten] = [await stepsOf(50), await stepsOf(500)];
    expect(ten / one).toBeLessThan(12);
    expect(ten).toBeLessThan(5_000 * 50);
  });

  it('takes no more work where very many read what very many wait for', async () => {
    const turns = new Turns();
    const size = 1_000;
    const readers = Array.from({ length: size }, (_, index) =>
      processAt(`r${index}`, [{ ...waits(`x${index}`, 1_000), flows: [flow(1_000, 'page/shared')] }]),
    );
    const writers = Array.from({ length: size }, (_, index) => processAt(`w${index}`, [waits('page', 1_000, ['y'])]));
    await waitTree([...readers, ...writers], turns);
    expect(turns.steps).toBeLessThan(size * 200);
  });

  it('lets other work have its turn between short pieces', async () => {
    let now = 0;
    let others = 0;
    const count = (): void => void (others++, (waiting = setImmediate(count)));
    let waiting = setImmediate(count);
    // Each look at the clock finds that a piece is over.
    const turns = new Turns(() => (now += 3));
    await waitTree(nested(200), turns);
    clearImmediate(waiting);
    expect(others).toBeGreaterThan(turns.steps / 64 / 2);
  });

  it('stays small where it is one long chain', async () => {
    const chain = Array.from({ length: 2_000 }, (_, index) =>
      processAt(`p${index}`, [waits(`k${index}`, 1, [`k${index + 1}`])]),
    );
    const tree = await treeOf(chain);
    expect(JSON.stringify(tree).length).toBeLessThan(100_000);
    const depthOf = ({ waiters }: WaitedLock): number =>
      1 + Math.max(0, ...waiters.flatMap(({ blocks }) => blocks.map(depthOf)));
    expect(depthOf(tree.roots[0]!)).toBe(11);
  });

  it('finds a ring of ten thousand, and shows a part of it', async () => {
    const ring = Array.from({ length: 10_000 }, (_, index) =>
      processAt(`p${index}`, [waits(`k${index}`, 1_000, [`k${(index + 1) % 10_000}`], `p${(index + 9_999) % 10_000}`)]),
    );
    const { deadlocks, circles } = await treeOf(ring);
    expect(deadlocks).toBe(1);
    expect(circles.map(({ length }) => length)).toEqual([50]);
  });

  it('stays small where each process holds what the others wait for, and counts those it leaves out', async () => {
    const readers = Array.from({ length: 500 }, (_, index) =>
      processAt(`p${index}`, [waits('inner', 2_000, ['outer']), waits('outer', 1_000)]),
    );
    const { roots } = await treeOf(readers);
    expect(JSON.stringify(roots).length).toBeLessThan(30_000);
    const [inner] = roots;
    expect(inner).toMatchObject({ key: 'inner', waiters: { length: 10 }, moreWaiters: 490 });
    const blocks = inner!.waiters.map((waiter) => waiter.blocks[0]!);
    expect(blocks.map(({ isRepeated }) => isRepeated)).toEqual([false, ...Array.from({ length: 9 }, () => true)]);
    expect(blocks[0]).toMatchObject({ key: 'outer', waiters: { length: 10 }, moreWaiters: 490 });
  });

  it('says how many waiting callers it has not looked at', async () => {
    const flows = Array.from({ length: 3 }, () => flow(1, 'y'));
    const fleet = Array.from({ length: 7_000 }, (_, index) =>
      processAt(`p${index}`, [{ ...waits(`k${index}`, 1), flows }]),
    );
    expect((await treeOf(fleet)).leftOut).toBe(1_000);
  });
});
