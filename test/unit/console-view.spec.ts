import { describe, expect, it } from '@jest/globals';
import type { LockIncident } from '../../lib/operators/activity-record.js';
import type { ConsoleView, Overview } from '../../lib/console/responses.js';
import { overviewOf as overviewOfPicture, pictureOf } from '../../lib/console/overview.js';
import { redacted } from '../../lib/console/redaction.js';
import { isFromElsewhere, isFromOwnPage } from '../../lib/console/same-origin.js';
import { SharedQuestion } from '../../lib/console/shared-question.js';
import { Turns } from '../../lib/diagnostics/turns.js';
import type { SeenProcess } from '../../lib/operators/wait-graph.js';
import { listed, processAt, waits } from '../support/fleet-activity.js';

/** What the page shows. */
async function overviewOf(seen: SeenProcess[], total: number): Promise<Overview> {
  const turns = new Turns();
  return overviewOfPicture(await pictureOf(seen, turns), total, turns);
}

describe('the view of a fleet', () => {
  it('adds up what several processes tell of a lock, with times as of now', async () => {
    const one = processAt('a', [waits('x', 1_000)], { age: 4_000 });
    const other = processAt('b', [{ ...waits('x', 2_000, [], 'newer'), callers: 3 }], { age: 1_000 });
    const [lock] = (await overviewOf([one, other], 7)).contended;
    expect(lock).toMatchObject({ callers: 4, processes: 2, longest: 5_000, holder: { host: 'newer', heldFor: 2_000 } });
    expect(lock!.waiters.map(({ host, longest }) => [host, longest])).toEqual([
      ['a', 5_000],
      ['b', 3_000],
    ]);
    expect((await overviewOf([one, other], 7)).total).toBe(7);
  });

  it('shows a forced release and the loss that it caused once, at the process that lost the lock', async () => {
    const common = { key: 'x', name: 'x', fencingToken: 5, method: undefined, label: undefined };
    const loss: LockIncident = { ...common, type: 'lost', lost: 'revoked', ago: 900 };
    const forced: LockIncident = { ...common, type: 'forced', actor: 'ann', ago: 1_000 };
    const { incidents } = await overviewOf(
      [processAt('loser', [], { incidents: listed(loss) }), processAt('operator', [], { incidents: listed(forced) })],
      2,
    );
    expect(incidents).toMatchObject([{ type: 'forced', actor: 'ann', host: 'loser' }]);
    const { incidents: alone } = await overviewOf([processAt('loser', [], { incidents: listed(loss) })], 1);
    expect(alone).toMatchObject([{ type: 'lost', host: 'loser' }]);
  });

  it('shows one leader of an election, that of the newest epoch, although the record of the last one is still there', async () => {
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
    const view = await overviewOf([gone, processAt('present', [], { leads: leads(2, 1_000) })], 2);
    expect(view.leaders.map(({ host, fencingToken }) => [host, fencingToken])).toEqual([['present', 2]]);
  });

  it('has no finding that names locks, where names are redacted', async () => {
    const findings = listed(
      { code: 'LOCK_DOCTOR_ORDER', message: "'user:ann' inside 'user:bob'" } as const,
      { code: 'LOCK_DOCTOR_LEASE', message: "'user:ann' has a fixed lease" } as const,
      { code: 'LOCK_DOCTOR_EVICTION', message: 'Redis evicts' } as const,
    );
    const view = (await overviewOf([processAt('a', [], { findings })], 1)) as ConsoleView;
    expect(redacted(view, { redact: undefined })).toBe(view);
    const shown = redacted(view, { redact: (text) => text });
    expect(shown.findings.map(({ code }) => code)).toEqual(view.findings.map(({ code }) => code));
    expect(shown.findings.at(-1)).toMatchObject({ message: 'Redis evicts' });
    expect(JSON.stringify(shown)).not.toMatch(/ann|bob/);
  });

  it('adds up how long callers waited for a name, and not how many waited at once, maybe at different times', async () => {
    const hot = (waited: number, most: number) => ({ hot: listed({ name: 'order:*', waited, most }) });
    const view = await overviewOf([processAt('a', [], hot(1_000, 3)), processAt('b', [], hot(500, 4))], 2);
    expect(view.hot).toEqual([{ name: 'order:*', waited: 1_500, most: 4 }]);
  });

  it('counts the processes that are seen, also where Redis was never read', async () => {
    expect(await overviewOf([processAt('own', [])], 0)).toMatchObject({
      total: 1,
      counts: { processes: { count: 1 } },
    });
  });

  it('counts names, not the processes in which callers wait for them', async () => {
    const names = Array.from({ length: 30 }, (_, index) => waits(`k${index}`, 1_000 - index));
    const told = names.slice(0, 10);
    const further = names.slice(10).map(({ key, callers, longest }) => ({ key, callers, longest }));
    const fleet = ['a', 'b', 'c'].map((host) => processAt(host, [], { contended: { first: told, more: 20 }, further }));
    const { contended, moreContended, counts } = await overviewOf(fleet, 3);
    expect([contended.length + moreContended, counts.contended]).toEqual([30, { count: 30, atMost: 30 }]);
    expect(contended.at(-1)).toMatchObject({ key: 'k29', callers: 3, processes: 3 });
  });

  it('says how many names there may be where processes have no room to name them all', async () => {
    const fleet = ['a', 'b'].map((host) => processAt(host, [], { contended: { first: [waits('x', 1)], more: 5 } }));
    const { counts } = await overviewOf(fleet, 2);
    expect(counts.contended).toEqual({ count: 1, atMost: 11 });
  });

  it('names twenty thousand locks at most, and counts the others', async () => {
    const named = (host: number, from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => waits(`k${host}:${from + index}`, 1));
    const fleet = Array.from({ length: 200 }, (_, host) =>
      processAt(`p${host}`, [], {
        contended: { first: named(host, 0, 10), more: 100 },
        further: named(host, 10, 110).map(({ key, callers, longest }) => ({ key, callers, longest })),
      }),
    );
    expect((await overviewOf(fleet, 200)).counts.contended).toEqual({ count: 20_000, atMost: 22_000 });
  });

  it('has a limited number of entries for any number of processes, and says how many more there are', async () => {
    const fleet = Array.from({ length: 500 }, (_, host) =>
      processAt(
        `host-${host}`,
        Array.from({ length: 10 }, (_key, index) => waits(`k${host}:${index}`, index)),
      ),
    );
    const view = await overviewOf(fleet, 500);
    expect(view.contended.length + view.moreContended).toBe(5_000);
    expect(JSON.stringify(view).length).toBeLessThan(200_000);
  });
});

describe('the work of one question for all', () => {
  const asking = (work: (turns: Turns, pass: (ms: number) => void) => Promise<void>) => {
    let now = 0;
    let asked = 0;
    const pass = (ms: number): void => void (now += ms);
    const question = new SharedQuestion(
      async (turns) => {
        asked++;
        await work(turns, pass);
      },
      () => now,
    );
    const askedAfter = async (ms: number): Promise<number> => {
      pass(ms);
      await question.ask();
      return asked;
    };
    return { askedAfter };
  };

  it('takes a twentieth of the event loop at most, however long it takes', async () => {
    const { askedAfter } = asking(async (turns, pass) => {
      await turns.each([1], () => pass(1_000));
    });
    expect(await askedAfter(0)).toBe(1);
    expect(await askedAfter(19_999)).toBe(1);
    expect(await askedAfter(1)).toBe(2);
  });

  it('is asked again after four seconds where Redis alone was slow', async () => {
    const { askedAfter } = asking(async (_turns, pass) => pass(5_000));
    expect(await askedAfter(0)).toBe(1);
    expect(await askedAfter(3_999)).toBe(1);
    expect(await askedAfter(1)).toBe(2);
  });

  it('does not count the turns of others', async () => {
    const { askedAfter } = asking(async (turns, pass) => {
      await turns.each([1], () => pass(10));
      turns.interrupt();
      pass(90);
      turns.resume();
      await turns.each([1], () => pass(40));
    });
    expect(await askedAfter(0)).toBe(1);
    // Of 140 ms the loop had 50; the answer was 140 ms under way.
    expect(await askedAfter(2_799)).toBe(1);
    expect(await askedAfter(1)).toBe(2);
  });
});

it.each([
  [false, { origin: 'http://ops.example:3000' }],
  [true, { origin: 'http://ops.example' }],
  [true, { origin: 'https://evil.example' }],
  [false, {}],
])('a request without Sec-Fetch-Site is from elsewhere: %p for %j', (expected, headers) => {
  expect(isFromElsewhere({ host: 'ops.example:3000', ...headers })).toBe(expected);
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
    [false, { 'sec-fetch-site': undefined, host: undefined }],
    [false, { 'sec-fetch-site': 'none' }],
    [false, { 'sec-fetch-site': 'cross-site', origin: 'https://ops.example' }],
    [false, { 'content-type': 'application/jsonp' }],
    [false, { 'content-type': undefined }],
    [false, { 'x-lock-console': undefined }],
  ])('is %s for %j', (expected, change) => {
    expect(isFromOwnPage({ ...own, ...change })).toBe(expected);
  });
});
