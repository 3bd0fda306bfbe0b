import { describe, expect, it, jest } from '@jest/globals';
import { Activity } from '../../../lib/operators/activity.js';
import { decodeActivity, encodeActivity, type ProcessActivity } from '../../../lib/operators/activity-record.js';
import { LiveLocks } from '../../../lib/operators/live-locks.js';
import { HotNames } from '../../../lib/operators/hot-names.js';
import { LockClient } from '../../../lib/core/lock-client.js';
import { lockDefaults, type LockOptions, resolveOptions } from '../../../lib/core/options.js';
import { LockConfigurationError, LockUnavailableError } from '../../../lib/errors/lock-errors.js';
import type { ActivityReport } from '../../../lib/core/lock-backend.js';
import { MemoryLockBackend, MemoryLockServer } from '../../../lib/backends/memory/index.js';
import { Member } from '../../../conformance/member.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Processes on one memory server, in virtual time. */
class Fleet {
  readonly clock = new VirtualClock();
  readonly server = new MemoryLockServer({ clock: this.clock });
  readonly log = new KeptLog();
  readonly reports: ActivityReport[] = [];
  onReport: (report: ActivityReport) => void = () => undefined;

  async join(tells = true) {
    const backend = new MemoryLockBackend({ server: this.server });
    const keep = backend.report.bind(backend);
    backend.report = async (report) => {
      this.reports.push(report);
      this.onReport(report);
      await keep(report);
    };
    const member = new Member(backend, this.log, { maxWaiters: 100_000 });
    member.operators.start(tells);
    await member.client.start();
    const take = (name: string, options?: LockOptions) => member.acquire(name, options);
    const { activity, views } = member.operators;
    return Object.assign(member.client, { take, activity, views, member });
  }

  /** What the last report says. */
  get last(): ProcessActivity {
    return decodeActivity(this.reports.at(-1)!.text)!;
  }
}

const forEver = { wait: Number.POSITIVE_INFINITY };

describe('the activity of a process', () => {
  it('sends nothing while no caller waits, and no lock is held for long or was lost', async () => {
    const fleet = new Fleet();
    const a = await fleet.join();
    await fleet.clock.advance(60_000);
    await a.take('short');
    await fleet.clock.advance(20_000);
    expect(fleet.reports).toEqual([]);
  });

  it('sends nothing where it is off', async () => {
    const fleet = new Fleet();
    const a = await fleet.join(false);
    await a.take('one');
    void a.take('one', forEver);
    await fleet.clock.advance(60_000);
    expect(fleet.reports).toEqual([]);
  });

  it('says which names callers wait for, the longest wait first, and who holds them', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    for (const name of ['order:1', 'order:2']) await a.take(name, { label: 'import' });
    void b.take('order:2', { ...forEver, label: 'first' });
    await fleet.clock.advance(2_000);
    void b.take('order:2', forEver);
    void b.take('order:1', forEver);
    await fleet.clock.advance(4_000);
    const { contended, held, waiting } = fleet.last;
    expect({ held, waiting }).toEqual({ held: 0, waiting: 3 });
    expect(contended.first).toMatchObject([
      { key: 'order:2', callers: 2, label: 'first', holder: { label: 'import', pid: process.pid } },
      { key: 'order:1', callers: 1 },
    ]);
    expect(contended.first[0]!.longest).toBeGreaterThan(contended.first[1]!.longest);
    expect(fleet.reports.at(-1)!.rank).toBe(contended.first[0]!.longest);
  });

  it('counts readers that wait for one name, each with a queue of its own, as one entry', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.take('page');
    for (let readers = 0; readers < 3; readers++) void b.take('page', { ...forEver, shared: true });
    await fleet.clock.advance(2_000);
    void b.take('page', forEver);
    await fleet.clock.advance(5_000);
    expect(fleet.last.contended).toMatchObject({ first: [{ key: 'page', callers: 4, kind: 'shared' }], more: 0 });
  });

  it('is sent each five seconds at most, and taken back when there is nothing left to tell', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    const lock = await a.take('one');
    const times: number[] = [];
    fleet.onReport = () => times.push(fleet.clock.now());
    const next = b.take('one', forEver);
    await fleet.clock.advance(21_000);
    expect(times.length).toBeGreaterThan(2);
    expect(times.slice(1).every((time, index) => time - times[index]! >= 5_000)).toBe(true);
    await (lock as { release(): Promise<void> }).release();
    await ((await next) as { release(): Promise<void> }).release();
    await fleet.clock.advance(10 * 60_000);
    expect(fleet.reports.at(-1)).toMatchObject({ text: '', lasts: 0 });
    expect(await a.activity.fleet(10)).toEqual({ total: 0, processes: [] });
    const sent = fleet.reports.length;
    await fleet.clock.advance(10 * 60_000);
    expect(fleet.reports).toHaveLength(sent);
  });

  it('repeats what does not change each thirty seconds, and stays known in between', async () => {
    const fleet = new Fleet();
    const a = await fleet.join();
    await a.take('job', { maxHold: '1h' });
    await fleet.clock.advance(1_000);
    await a.take('leader');
    await fleet.clock.advance(5 * 60_000);
    expect(fleet.reports.length).toBeLessThan(12);
    await fleet.clock.advance(17_000);
    expect((await a.activity.fleet(10)).processes).toMatchObject([{ long: { first: [{ key: 'leader' }], more: 0 } }]);
    await fleet.clock.advance(30 * 60_000);
    const { processes } = await a.activity.fleet(10);
    expect(processes[0]!.long.first.map(({ key, maxHold }) => [key, maxHold])).toEqual([
      ['job', 3_600_000],
      ['leader', undefined],
    ]);
  });

  it('tells losses with their reason, and forced releases by this process, and no other', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.take('taken', { label: 'import' });
    await b.views.forceRelease('taken', { actor: 'ann@example.com', reason: 'hangs' });
    await fleet.clock.advance(15_000);
    const own = (await a.activity.own()).incidents.first;
    expect(own).toMatchObject([{ type: 'lost', lost: 'revoked', key: 'taken', label: 'import' }]);
    const others = (await b.activity.own()).incidents.first;
    expect(others).toMatchObject([
      { type: 'forced', key: 'taken', label: 'import', actor: 'ann@example.com', reason: 'hangs' },
    ]);
    expect(others[0]!.fencingToken).toBe(own[0]!.fencingToken);
    expect(others[0]!.ago).toBeGreaterThan(0);
    await fleet.clock.advance(15 * 60_000);
    expect((await a.activity.own()).incidents.first).toEqual([]);
  });

  it('writes a small record, and the longest waits, of a process with very many names', async () => {
    const fleet = new Fleet();
    const a = await fleet.join();
    const names = Array.from({ length: 500 }, (_, index) => `${'ü'.repeat(200)}:${index}`);
    for (const name of names) await a.take(name, { label: name.slice(-100) });
    void a.take(names[234]!, forEver);
    await fleet.clock.advance(1_000);
    for (const name of names) void a.take(name, forEver);
    await fleet.clock.advance(60_000);
    expect(fleet.reports.every(({ text }) => text.length <= 8_000)).toBe(true);
    const { contended, long } = fleet.last;
    expect(contended.first[0]).toMatchObject({ key: names[234], callers: 2 });
    expect(long.first.length + long.more).toBe(500);
    expect(contended.first.length + contended.more).toBe(500);
  });

  it('names ten contended locks with all it knows, each further one once and in short, and counts all of them', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    for (let index = 0; index < 30; index++) {
      await a.take(`name:${index}`);
      void b.take(`name:${index}`, forEver);
    }
    await fleet.clock.advance(2_000);
    const { contended, further } = await b.activity.own();
    expect([contended.first.length, contended.more, further.length]).toEqual([10, 20, 20]);
    expect(new Set([...contended.first, ...further].map(({ key }) => key)).size).toBe(30);
  });

  it('is the same on a machine where each step takes long', async () => {
    let real = 0;
    const slow = jest.spyOn(performance, 'now').mockImplementation(() => (real += 1_000));
    try {
      const fleet = new Fleet();
      const [a, b] = [await fleet.join(), await fleet.join()];
      for (let index = 0; index < 200; index++) {
        await a.take(`name:${index}`);
        void b.take(`name:${index}`, forEver);
      }
      await fleet.clock.advance(11_000);
      expect(fleet.reports.filter(({ rank }) => rank > 0)).toHaveLength(3);
      expect(fleet.last).toMatchObject({ waiting: 200, contended: { more: 190 } });
    } finally {
      slow.mockRestore();
    }
  });

  it('names no claim: not its id, nor that of the client', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.take('one');
    void b.take('one', forEver);
    await fleet.clock.advance(6_000);
    const { holders, waiters } = fleet.server.table.snapshot('one', 10);
    const ids = [...holders, ...waiters].flatMap(({ id }) => [id, id.slice(0, 10), id.split('.').at(-1)!]);
    expect(ids).toHaveLength(6);
    for (const { process, text } of fleet.reports) for (const id of ids) expect(`${process} ${text}`).not.toContain(id);
  });

  it('leaves the locks alone when the server refuses it, and says so once', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    fleet.onReport = () => {
      throw new LockConfigurationError('NOPERM');
    };
    await a.take('one');
    void b.take('one', forEver);
    await fleet.clock.advance(5 * 60_000);
    // A waiter, and a holder for long.
    expect(fleet.reports).toHaveLength(2);
    expect(fleet.log.lines.filter((line) => line.includes('NOPERM'))).toHaveLength(2);
    await a.take('another');
  });

  it('goes on after an outage', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.take('one');
    void b.take('one', forEver);
    fleet.onReport = () => {
      throw new LockUnavailableError('away', {});
    };
    await fleet.clock.advance(6_000);
    fleet.onReport = () => undefined;
    await fleet.clock.advance(6_000);
    expect((await b.activity.fleet(10)).processes).toMatchObject([{ contended: { first: [{ key: 'one' }] } }]);
    expect(fleet.log.lines).toEqual([]);
  });

  it('tells mistakes that the doctor found, and for a remark alone sends nothing', async () => {
    const fleet = new Fleet();
    const a = await fleet.join();
    a.activity.found({ code: 'LOCK_DOCTOR_PERSISTENCE', message: 'remark', remark: true });
    await fleet.clock.advance(60_000);
    expect(fleet.reports).toEqual([]);
    a.activity.found({ code: 'LOCK_DOCTOR_EVICTION', message: 'x'.repeat(1_000) });
    await fleet.clock.advance(10_000);
    expect(fleet.last.findings.first.map(({ message }) => message)).toEqual(['remark', 'x'.repeat(400)]);
  });

  it('says what a caller holds while it waits', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.take('invoice');
    const scope = await b.enter('report', resolveOptions({}, lockDefaults));
    void scope.run(() => b.take('invoice', forEver));
    await fleet.clock.advance(6_000);
    expect(fleet.last.contended.first).toMatchObject([
      { key: 'invoice', flows: [{ waited: 6_000, holds: [{ key: 'report', kind: 'exclusive' }] }] },
    ]);
  });

  it('says it once for callers that hold the same', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    await a.take('invoice');
    const [scope, other] = [
      await b.enter('report', resolveOptions({}, lockDefaults)),
      await b.enter('import', resolveOptions({}, lockDefaults)),
    ];
    void scope.run(() => Array.from({ length: 4 }, () => void b.take('invoice', forEver)));
    void other.run(() => b.take('invoice', forEver));
    await fleet.clock.advance(6_000);
    expect(fleet.last.contended.first[0]!.flows.map(({ holds }) => holds[0]!.key)).toEqual(['report', 'import']);
  });

  it('tells who leads, and no candidate of an election as a waiting caller', async () => {
    const fleet = new Fleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    for (const process of [a, b])
      void process.member.election('scheduler').campaign(() => new Promise(() => undefined));
    await fleet.clock.advance(5 * 60_000);
    expect(fleet.reports.length).toBeLessThan(12);
    const { processes } = await b.activity.fleet(10);
    expect(processes).toMatchObject([{ leads: { first: [{ key: 'scheduler' }] }, long: { first: [] } }]);
    expect(await b.activity.own()).toMatchObject({ waiting: 0, contended: { first: [] } });
  });

  it('ends with the client', async () => {
    const fleet = new Fleet();
    const a = await fleet.join();
    await a.member.close();
    expect(fleet.clock.pending).toBe(0);
  });
});

describe('the sampling of an activity', () => {
  /** One whose sample runs `during`, with a clock that the test moves. */
  function setUp(during: (activity: Activity) => void, now = (): number => 10_000) {
    const reports: unknown[] = [];
    const pauses: number[] = [];
    let turn = (): void => undefined;
    const client = {
      backend: { report: async (report: unknown) => void reports.push(report) },
      clock: {
        now,
        timer: (pause: number, end: () => void) => {
          pauses.push(pause);
          turn = end;
          return () => undefined;
        },
      },
      log: new KeptLog(),
      id: 'client.host.1',
      observation: { connection: 'default' },
      counts: { held: 0, waiting: 1 },
      holds: [],
      everyQueue: () => {
        during(activity);
        return [];
      },
    } as unknown as LockClient;
    const activity: Activity = new Activity(client, new LiveLocks(client, new Map()), () => []);
    activity.found({ code: 'LOCK_DOCTOR_EVICTION', message: 'm' });
    activity.start();
    const run = async (): Promise<void> => {
      turn();
      for (let steps = 0; steps < 50; steps++) await Promise.resolve();
    };
    return { reports, pauses, run, activity };
  }

  it('sends a report when it has run', async () => {
    const { reports, run, activity } = setUp(() => undefined);
    await run();
    activity.stop();
    expect(reports).toHaveLength(1);
  });

  it('sends nothing, and begins no pause, when it is stopped while it runs', async () => {
    const { reports, pauses, run } = setUp((activity) => activity.stop());
    await run();
    expect(reports).toEqual([]);
    expect(pauses).toEqual([1_000]);
  });

  it('takes a fiftieth of the time at most', async () => {
    let now = 0;
    const { pauses, run, activity } = setUp(
      () => (now += 500),
      () => now,
    );
    await run();
    activity.stop();
    expect(pauses[0]).toBe(1_000);
    expect(pauses[1]).toBeGreaterThanOrEqual(25_000);
  });
});

describe('a report of another program', () => {
  it.each(['', 'hello', 'null', '[]', '{"form":3}', '{"form":2,"client":"x"}'])('such as %j is left out', (text) => {
    expect(decodeActivity(text)).toBeUndefined();
  });

  it('is one whose lists hold something else', () => {
    const list = { first: [], more: 0 };
    const lists = { contended: list, leads: list, long: list, holds: list, hot: list, incidents: list, findings: list };
    const whole = { client: 'a', ...lists, further: [], problems: [] };
    const text = encodeActivity({ ...whole, host: undefined, pid: undefined, held: 0, waiting: 0 });
    expect(decodeActivity(text)).toBeDefined();
    expect(decodeActivity(text.replace('"contended":{"first":[]', '"contended":{"first":[1]'))).toBeUndefined();
  });

  const lock = { key: 'k', name: 'k' };
  const held = { ...lock, kind: 'exclusive', fencingToken: 1, heldFor: 1, lease: 1, leaseLeft: 1 };
  const entries = {
    contended: {
      ...lock,
      kind: 'exclusive',
      callers: 1,
      longest: 1,
      holder: { client: 'b', host: 'h', pid: 1, fencingToken: 1, heldFor: 1 },
      flows: [{ waited: 1, holds: [{ key: 'a', kind: 'exclusive' }] }],
    },
    leads: held,
    long: held,
    holds: held,
    hot: { name: 'k', waited: 1, most: 1 },
    incidents: { ...lock, type: 'lost', ago: 1, fencingToken: 1, lost: 'revoked' },
    findings: { code: 'LOCK_DOCTOR_EVICTION', message: 'm' },
  };
  /** @param change takes the place of fields of one entry, or of the whole record */
  const record = (list: string, change: object): string => {
    const lists = Object.entries(entries).map(([name, entry]) => {
      const changed = name === list ? { ...entry, ...change } : entry;
      return [name, { first: [changed], more: 0 }] as const;
    });
    const own = { client: 'a', host: 'h', pid: 1, held: 0, waiting: 1, further: [], problems: [] };
    const whole = { form: 2, ...own, ...Object.fromEntries(lists) };
    return JSON.stringify(list === '' ? { ...whole, ...change } : whole);
  };

  it('is one whose entries have other fields, in any list', () => {
    expect(decodeActivity(record('', {}))).toBeDefined();
    for (const [list, entry] of Object.entries(entries))
      for (const field of Object.keys(entry))
        for (const wrong of [null, { a: 1 }, ['x', 1]])
          expect([list, field, decodeActivity(record(list, { [field]: wrong }))]).toEqual([list, field, undefined]);
  });

  it.each([
    ['', { host: 1 }],
    ['', { pid: 'x' }],
    ['', { waiting: 'x' }],
    ['', { held: undefined }],
    ['', { further: [{ key: 'k' }] }],
    ['', { problems: 'none' }],
    ['contended', { flows: 'abc' }],
    ['contended', { flows: [{ waited: 1, holds: ['a'] }] }],
    ['contended', { holder: { client: 'b', heldFor: 'x' } }],
    ['contended', { method: 1 }],
    ['long', { maxHold: '1m' }],
    ['incidents', { reason: {} }],
    ['incidents', { label: 1 }],
    ['findings', { remark: 'yes' }],
    ['contended', { callers: 1e308 }],
    ['contended', { holder: { client: 'b', fencingToken: { a: 1 } } }],
  ])('is one with the wrong field %s %j', (list, change) => {
    expect(decodeActivity(record(list, change))).toBeUndefined();
  });

  it('is one that is longer than this library writes', () => {
    const text = record('', {});
    expect(decodeActivity(text.padEnd(8_000))).toBeDefined();
    expect(decodeActivity(text.padEnd(8_001))).toBeUndefined();
  });
});

it('a report keeps no field that this library does not know, in any part of it: no answer breaks by its depth', () => {
  const list = { first: [], more: 0 };
  const lists = { leads: list, long: list, holds: list, hot: list, incidents: list, findings: list };
  const holder = { client: 'b', fencingToken: 1, trace: 't', heldFor: 1 };
  const flows = [{ waited: 1, holds: [{ key: 'a', kind: 'exclusive' }] }];
  const wait = { key: 'k', name: 'k', kind: 'exclusive', callers: 1, longest: 1, holder, flows };
  const contended = { first: [wait], more: 0 };
  const whole = { client: 'a', held: 0, waiting: 1, contended, ...lists, further: [], problems: [] };
  const written = JSON.stringify({ form: 2, ...whole });
  const deep = `"deep":${'['.repeat(1_000)}${']'.repeat(1_000)},`;
  const places = [...written.matchAll(/\{(?=")/g)].map(({ index }) => index + 1);
  expect(places).toHaveLength(12);
  for (const place of places)
    expect(decodeActivity(written.slice(0, place) + deep + written.slice(place))).toEqual(whole);
});

describe('hot names', () => {
  const callers = (...counts: Array<[string, number]>) => new Map(counts);

  it('are ordered by the time that all their callers waited, over five minutes', () => {
    const hot = new HotNames();
    hot.add(0, callers(['a', 1], ['b', 3]), 1_000);
    hot.add(90_000, callers(['a', 4]), 1_000);
    expect(hot.listed(90_000).first).toEqual([
      { name: 'a', waited: 5_000, most: 4 },
      { name: 'b', waited: 3_000, most: 3 },
    ]);
    expect(hot.listed(300_000).first).toEqual([{ name: 'a', waited: 4_000, most: 4 }]);
    expect(hot.listed(390_000).first).toEqual([]);
    expect(hot.isEmpty).toBe(true);
  });

  it('of one kind, with very many values that no template made, leave room for other kinds', () => {
    const hot = new HotNames();
    for (let second = 0; second < 240; second++) {
      const users = Array.from({ length: 50 }, (_, user): [string, number] => [`user:a${50 * second + user}`, 1]);
      hot.add(second * 1_000, callers(...users, [`b${second}:cart`, 1], ['payments:settle', 1]), 1_000);
    }
    const { first } = hot.listed(240_000);
    expect(first.slice(0, 2)).toMatchObject([
      { name: 'user:*', most: 50 },
      { name: 'payments:settle', waited: 240_000, most: 1 },
    ]);
  });

  it('of a kind that has an entry already get into it, also when there is no more room', () => {
    const hot = new HotNames();
    const users = (from: number, to: number) =>
      callers(...Array.from({ length: to - from }, (_, user): [string, number] => [`user:a${from + user}`, 1]));
    hot.add(0, users(0, 30), 1_000);
    for (let index = 0; index < 200; index++) hot.add(index, callers([`${index}:name`, 1]), 1_000);
    hot.add(500, users(30, 60), 1_000);
    expect(hot.listed(1_000).first).toContainEqual({ name: 'user:*', waited: 40_000, most: 30 });
  });

  it('share one entry when they are too many', () => {
    const hot = new HotNames();
    for (let index = 0; index < 1_000; index++) hot.add(index, callers([`${index}:name`, 1]), 1_000);
    const { first } = hot.listed(1_000);
    expect(first).toHaveLength(101);
    expect(first[0]).toEqual({ name: 'other', waited: 900_000, most: 1 });
  });

  it('of plain words leave room for other kinds as well', () => {
    const hot = new HotNames();
    hot.add(0, callers(...Array.from({ length: 200 }, (_, word) => [`word ${word}`, 1] as [string, number])), 1_000);
    hot.add(1_000, callers(['order:*', 1]), 1_000);
    expect(hot.listed(1_000).first).toContainEqual({ name: 'order:*', waited: 1_000, most: 1 });
  });
});
