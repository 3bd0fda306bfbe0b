import { describe, expect, it } from '@jest/globals';
import type { HolderRef, HolderSnapshot } from '../../../lib/core/lock-backend.js';
import type { Hold } from '../../../lib/core/hold.js';
import { LockViews } from '../../../lib/operators/lock-views.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { ScriptedBackend } from '../../support/scripted-backend.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const snapshotOf = (claim: string): HolderSnapshot => {
  return { id: claim, fencingToken: 1, heldFor: 10, leaseLeft: 20_000, state: 'held', permits: 1 };
};
const [first, second] = ['first.web.1:0:Report.daily', 'second.web.2:0:Report.weekly'] as const;

const operator = { observation: { connection: 'default' }, id: 'operator.web.9' };

/** Views on a backend that shows these holders, and revokes the holds that it gets. */
const viewsOf = (holders: string[], { revoked = holders, listed = [[]] as string[][], holds = [] as Hold[] } = {}) => {
  const clock = new VirtualClock();
  const log = new KeptLog();
  const asked: Array<readonly HolderRef[]> = [];
  const backend = Object.assign(new ScriptedBackend(clock), {
    inspect: async () => ({ kind: 'shared' as const, limit: undefined, holders: holders.map(snapshotOf), waiters: [] }),
    revoke: async (_name: string, named: readonly HolderRef[]) => {
      asked.push(named);
      return revoked;
    },
    async *list() {
      yield* listed;
    },
  });
  return { log, asked, views: new LockViews({ ...operator, backend, log, holds } as never) };
};

describe('a forced release', () => {
  it('that came too late revokes nothing, returns false, and is not logged', async () => {
    const { log, views } = viewsOf([first], { revoked: [] });
    expect(await views.forceRelease('a')).toBe(false);
    expect(log.lines).toEqual([]);
  });

  it('names the holders that it revoked, not holders that were seen but had ended by then', async () => {
    const { log, views } = viewsOf([first, second], { revoked: [second] });
    expect(await views.forceRelease('a')).toBe(true);
    expect(log.lines).toHaveLength(1);
    expect(log.lines[0]).toContain('Report.weekly (web, process 2)');
    expect(log.lines[0]).not.toContain('Report.daily');
  });

  it('of a lock of its own process names the current holder, not the method that requested it, and goes by the token of that holder', async () => {
    const lost: string[] = [];
    const holds: Hold[] = [];
    const lose = (reason: string): void => {
      lost.push(reason);
      holds.length = 0;
    };
    const user = { method: 'Report.monthly', label: 'import 7', fencingToken: 7, heldFor: 3 };
    const hold = { claim: { id: first }, user, lose };
    holds.push(hold as unknown as Hold);
    const { log, asked, views } = viewsOf([first], { holds });
    expect((await views.inspect('a')).holders).toMatchObject([
      { method: 'Report.monthly', label: 'import 7', fencingToken: 7, heldFor: 3 },
    ]);
    expect(await views.forceRelease('a', { fencingToken: 7 })).toBe(true);
    // What the backend has is the token of the first caller.
    expect(asked).toEqual([[expect.objectContaining({ id: first, fencingToken: 1 })]]);
    expect(lost).toEqual(['revoked']);
    expect(log.lines[0]).toContain("Report.monthly 'import 7' (web, process 1)");
  });
});

describe('a list', () => {
  it('contains a name once, even if the backend finds it several times', async () => {
    const { views } = viewsOf([], { listed: [['a', 'b', 'a'], [], ['b', 'c']] });
    const names: string[] = [];
    for await (const name of views.list()) names.push(name);
    expect(names).toEqual(['a', 'b', 'c']);
  });
});

describe('the first names', () => {
  /** @param batches what each step over the keys finds */
  const views = (...batches: string[][]) => {
    const asked: string[] = [];
    const backend = {
      async *list(startsWith: string) {
        asked.push(startsWith);
        for (const batch of batches) yield batch;
      },
    };
    const client = { ...operator, backend, log: new KeptLog(), holds: [] };
    return { asked, views: new LockViews(client as never) };
  };

  it('are all of them where there are no more, and each comes once', async () => {
    const { asked, views: of } = views(['order:1'], [], ['order:1', 'order:2']);
    expect(await of.firstNames('order:', 2, 3)).toEqual({ names: ['order:1', 'order:2'], isWhole: true });
    expect(asked).toEqual(['order:']);
  });

  it('end after so many names, and after so many steps, even of a server without any', async () => {
    expect(await views(['a', 'b', 'c']).views.firstNames('', 2, 9)).toEqual({ names: ['a', 'b'], isWhole: false });
    expect(await views([], [], [], ['late']).views.firstNames('', 9, 2)).toEqual({ names: [], isWhole: false });
  });
});
