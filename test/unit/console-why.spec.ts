import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { LockInfo } from '../../lib/core/lock-info.js';
import type { OverviewResponse } from '../../lib/console/responses.js';

// A variable: the page is compiled with the types of a browser, and the tests without them.
const module: string = '../../lib/console/page/why.js';
const { causeOf } = (await import(module)) as {
  causeOf(info: LockInfo, view: OverviewResponse): { text: string; lock?: string } | undefined;
};

type Holder = LockInfo['holders'][number];
type WaitedLock = OverviewResponse['waits']['roots'][number];

const party = { client: 'c', host: 'web-1', pid: 1, method: 'Job.run', label: undefined };
const holder = (more: Partial<Holder> = {}): Holder =>
  ({ ...party, fencingToken: 7, heldFor: 60_000, leaseLeft: 20_000, state: 'held', permits: 1, ...more }) as Holder;
const waiter = {
  ...party,
  waited: 9_000,
  kind: 'exclusive',
  permits: 1,
  reachable: true,
} as LockInfo['waiters'][number];
const info = (key: string, holders: Holder[], waiters = [waiter]): LockInfo => ({
  key,
  kind: 'exclusive',
  limit: undefined,
  holders,
  waiters,
});
const lock = (key: string, blocks: WaitedLock[] = [], more: Partial<WaitedLock> = {}) =>
  ({
    key,
    holder: party,
    isDeadlock: false,
    isRepeated: false,
    waiters: [{ ...party, callers: 1, longest: 1, blocks }],
    moreWaiters: 0,
    ...more,
  }) as unknown as WaitedLock;
const view = (roots: WaitedLock[], long: Array<{ key: string; fencingToken: number }> = []) =>
  ({ waits: { roots, deadlocks: 0 }, long }) as unknown as OverviewResponse;

describe('why callers wait, as the console says it', () => {
  it('names the lock that the holder waits for', () => {
    expect(causeOf(info('report', [holder()]), view([lock('invoice', [lock('report')])]))).toMatchObject({
      text: expect.stringContaining('waits for another lock'),
      lock: 'invoice',
    });
  });

  it('says nothing of the lock at the root, whose holder waits for no one', () => {
    expect(causeOf(info('invoice', [holder()]), view([lock('invoice', [lock('report')])]))).toBeUndefined();
  });

  it('calls a deadlock a deadlock, for each lock of it', () => {
    const again = lock('a', [], { isDeadlock: true, isRepeated: true, waiters: [] });
    const roots = [lock('a', [lock('b', [again], { isDeadlock: true })], { isDeadlock: true })];
    for (const key of ['a', 'b']) expect(causeOf(info(key, [holder()]), view(roots))?.text).toContain('A deadlock');
  });

  it('says that the work is over where minHold keeps the lock', () => {
    expect(causeOf(info('cron', [holder({ state: 'kept' })]), view([]))?.text).toContain('minHold');
  });

  it('says that the first waiter was not reached', () => {
    const gone = { ...waiter, reachable: false };
    expect(causeOf(info('a', [holder()], [gone]), view([]))?.text).toContain('was not reached');
  });

  it('says that the work takes long, of this grant and of no other', () => {
    const long = [{ key: 'a', fencingToken: 7 }];
    expect(causeOf(info('a', [holder()]), view([], long))?.text).toContain('takes longer');
    expect(causeOf(info('a', [holder({ fencingToken: 8 })]), view([], long))).toBeUndefined();
  });

  it('says nothing of a free lock', () => {
    expect(causeOf(info('a', [], []), view([]))).toBeUndefined();
  });
});

describe('the links of the page', () => {
  it('lead to sections that are there', () => {
    const root = join(import.meta.dirname, '../..');
    const source = readFileSync(join(root, 'lib/console/page/why.js'), 'utf8');
    const links = [...source.matchAll(/'([\w-]+\.md)(?:#([\w-]+))?'/g)];
    expect(links.length).toBeGreaterThan(4);
    for (const [, file, anchor] of links) {
      const headings = readFileSync(join(root, 'docs/operate', file!), 'utf8').matchAll(/^#+ (.*)$/gm);
      const anchors = [...headings].map(([, text]) =>
        text!
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      );
      if (anchor !== undefined) expect(anchors).toContain(anchor);
    }
  });
});
