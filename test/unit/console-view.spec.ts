import { describe, expect, it } from '@jest/globals';
import type { LockIncident, ProcessActivity, WaitedForLock } from '../../lib/core/activity-record.js';
import type { ConsoleView } from '../../lib/console/answers.js';
import { overviewOf as overviewOfPicture, pictureOf, type SeenProcess } from '../../lib/console/overview.js';
import { redacted } from '../../lib/console/redaction.js';
import { isFromOwnPage } from '../../lib/console/same-origin.js';
import { waitTree } from '../../lib/console/wait-tree.js';

const listed = <T>(...first: T[]) => ({ first, more: 0 });

const party = (host: string, method?: string) => ({ client: host, host, pid: 1, method, label: undefined });
const holderAt = (host: string) => ({ ...party(host, 'Holder.work'), fencingToken: 1, heldFor: 1_000 });

function waits(key: string, longest: number, inside: string[] = [], holder = 'h'): WaitedForLock {
  const name = key.replace(/\d/, '*');
  return {
    key,
    name,
    kind: 'exclusive',
    callers: 1,
    longest,
    method: 'Job.run',
    label: undefined,
    holder: holderAt(holder),
    flows:
      inside.length > 0 ? [{ waited: longest, holds: inside.map((name) => ({ key: name, kind: 'exclusive' })) }] : [],
  };
}

function processAt(
  host: string,
  contended: WaitedForLock[],
  more: Partial<ProcessActivity & { age: number }> = {},
): SeenProcess {
  const counts = { held: 1, waiting: contended.length };
  const nothing = {
    leads: listed<never>(),
    long: listed<never>(),
    holds: listed<never>(),
    further: [],
    problems: [],
    hot: listed<never>(),
    incidents: listed<never>(),
    findings: listed<never>(),
  };
  return { client: host, host, pid: 1, ...counts, contended: listed(...contended), ...nothing, age: 0, ...more };
}

const overviewOf = (seen: SeenProcess[], total: number) => overviewOfPicture(pictureOf(seen), total);

describe('who waits for whom', () => {
  it('is a chain from a holder that waits for no one', () => {
    const { roots, deadlocks } = waitTree([
      processAt('a', [waits('invoice', 9_000, ['report'])]),
      processAt('b', [waits('report', 5_000, [], 'a')]),
    ]);
    expect(deadlocks).toBe(0);
    expect(roots).toHaveLength(1);
    const [root] = roots;
    expect(root).toMatchObject({ key: 'invoice', isDeadlock: false, holder: { host: 'h' } });
    expect(root!.waiters).toMatchObject([
      { host: 'a', longest: 9_000, blocks: [{ key: 'report', waiters: [{ host: 'b' }] }] },
    ]);
  });

  it('is a deadlock where each holds what the next one waits for, shown once and to its end', () => {
    const { roots, deadlocks } = waitTree([
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
  });

  it('is no deadlock for callers that hold other locks than those that are waited for', () => {
    const { deadlocks } = waitTree([
      processAt('a', [waits('x', 2_000, ['mine'], 'b')]),
      processAt('b', [waits('y', 1_000, ['yours'], 'a')]),
    ]);
    expect(deadlocks).toBe(0);
  });

  it('stays small for a fleet that is one long chain', () => {
    const chain = Array.from({ length: 2_000 }, (_, index) =>
      processAt(`p${index}`, [waits(`k${index}`, 1, [`k${index + 1}`])]),
    );
    const text = JSON.stringify(waitTree(chain));
    expect(text.length).toBeLessThan(100_000);
  });

  it('stays small for a fleet in which each process holds what the others wait for, and counts those it leaves out', () => {
    const readers = Array.from({ length: 500 }, (_, index) =>
      processAt(`p${index}`, [waits('inner', 2_000, ['outer']), waits('outer', 1_000)]),
    );
    const { roots } = waitTree(readers);
    expect(JSON.stringify(roots).length).toBeLessThan(20_000);
    const [inner] = roots;
    expect(inner).toMatchObject({ key: 'inner', waiters: { length: 10 }, moreWaiters: 490 });
    const blocks = inner!.waiters.map((waiter) => waiter.blocks[0]!);
    expect(blocks.map(({ isRepeated }) => isRepeated)).toEqual([false, ...Array.from({ length: 9 }, () => true)]);
    expect(blocks[0]).toMatchObject({ key: 'outer', waiters: { length: 10 }, moreWaiters: 490 });
  });

  it('shows the waiters first that block others, however short they have waited', () => {
    const queue = Array.from({ length: 20 }, (_, index) => processAt(`p${index}`, [waits('x', 5_000 + index)]));
    const { roots } = waitTree([
      ...queue,
      processAt('blocker', [waits('x', 1, ['y'])]),
      processAt('z', [waits('y', 1)]),
    ]);
    expect(roots[0]!.waiters[0]).toMatchObject({ host: 'blocker', blocks: [{ key: 'y' }] });
  });
});

describe('the view of a fleet', () => {
  it('adds up what several processes tell of a lock, with times as of now', () => {
    const one = processAt('a', [waits('x', 1_000)], { age: 4_000 });
    const other = processAt('b', [{ ...waits('x', 2_000, [], 'newer'), callers: 3 }], { age: 1_000 });
    const [lock] = overviewOf([one, other], 7).contended;
    expect(lock).toMatchObject({ callers: 4, processes: 2, longest: 5_000, holder: { host: 'newer', heldFor: 2_000 } });
    expect(lock!.waiters.map(({ host, longest }) => [host, longest])).toEqual([
      ['a', 5_000],
      ['b', 3_000],
    ]);
    expect(overviewOf([one, other], 7).total).toBe(7);
  });

  it('shows a forced release and the loss that it caused once, at the process that lost the lock', () => {
    const common = { key: 'x', name: 'x', fencingToken: 5, method: undefined, label: undefined };
    const loss: LockIncident = { ...common, type: 'lost', lost: 'revoked', ago: 900 };
    const forced: LockIncident = { ...common, type: 'forced', actor: 'ann', ago: 1_000 };
    const { incidents } = overviewOf(
      [processAt('loser', [], { incidents: listed(loss) }), processAt('operator', [], { incidents: listed(forced) })],
      2,
    );
    expect(incidents).toMatchObject([{ type: 'forced', actor: 'ann', host: 'loser' }]);
    const alone = overviewOf([processAt('loser', [], { incidents: listed(loss) })], 1).incidents;
    expect(alone).toMatchObject([{ type: 'lost', host: 'loser' }]);
  });

  it('shows one leader of an election, that of the newest epoch, although the record of the last one is still there', () => {
    const leads = (epoch: number, heldFor: number) => {
      const lock = {
        key: 'scheduler',
        name: 'scheduler',
        kind: 'exclusive',
        method: undefined,
        label: undefined,
      } as const;
      return listed({ ...lock, fencingToken: epoch, heldFor, lease: 9_000, leaseLeft: 9_000, maxHold: undefined });
    };
    const gone = processAt('gone', [], { leads: leads(1, 90_000) });
    const view = overviewOf([gone, processAt('present', [], { leads: leads(2, 1_000) })], 2);
    expect(view.leaders.map(({ host, fencingToken }) => [host, fencingToken])).toEqual([['present', 2]]);
  });

  it('has no finding that names locks, where names are redacted', () => {
    const findings = listed(
      { code: 'LOCK_DOCTOR_ORDER', message: "'user:ann' inside 'user:bob'" } as const,
      { code: 'LOCK_DOCTOR_LEASE', message: "'user:ann' has a fixed lease" } as const,
      { code: 'LOCK_DOCTOR_EVICTION', message: 'Redis evicts' } as const,
    );
    const view = overviewOf([processAt('a', [], { findings })], 1) as ConsoleView;
    expect(redacted(view, { redact: undefined })).toBe(view);
    const shown = redacted(view, { redact: (text) => text });
    expect(shown.findings.map(({ code }) => code)).toEqual(view.findings.map(({ code }) => code));
    expect(shown.findings.at(-1)).toMatchObject({ message: 'Redis evicts' });
    expect(JSON.stringify(shown)).not.toMatch(/ann|bob/);
  });

  it('has a limited number of entries for any number of processes, and says how many more there are', () => {
    const fleet = Array.from({ length: 500 }, (_, host) =>
      processAt(
        `host-${host}`,
        Array.from({ length: 10 }, (_key, index) => waits(`k${host}:${index}`, index)),
      ),
    );
    const view = overviewOf(fleet, 500);
    expect(view.contended.length + view.moreContended).toBe(5_000);
    expect(JSON.stringify(view).length).toBeLessThan(200_000);
  });
});

describe('a request of the own page', () => {
  const own = {
    'content-type': 'application/json',
    'x-lock-console': '1',
    host: 'ops.example',
    'sec-fetch-site': 'same-origin',
  };

  it.each([
    [true, {}],
    [true, { 'content-type': 'Application/JSON; charset=utf-8' }],
    [true, { 'sec-fetch-site': undefined, origin: 'https://ops.example' }],
    [false, { 'sec-fetch-site': undefined, origin: 'https://ops.example.evil' }],
    [false, { 'sec-fetch-site': undefined, origin: 'not an origin' }],
    [false, { 'sec-fetch-site': 'none' }],
    [false, { 'sec-fetch-site': 'cross-site', origin: 'https://ops.example' }],
    [false, { 'content-type': 'application/jsonp' }],
    [false, { 'content-type': undefined }],
    [false, { 'x-lock-console': undefined }],
  ])('is %s for %j', (expected, change) => {
    expect(isFromOwnPage({ ...own, ...change })).toBe(expected);
  });
});
