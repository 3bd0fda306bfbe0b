import { afterEach, describe, expect, it } from '@jest/globals';
import type { Clock } from '../../../lib/core/clock.js';
import type { LockSnapshot } from '../../../lib/core/lock-backend.js';
import { Lab } from '../../../site/lab/lab.js';
import { scenes } from '../../../site/lab/scenes.js';
import type { ServerStep } from '../../../site/lab/server-watch.js';

const key = 'stock:42';
const free: LockSnapshot = { kind: undefined, limit: undefined, holders: [], waiters: [] };

const labs: Lab[] = [];
afterEach(() => {
  for (const lab of labs.splice(0)) lab.close();
});

async function started(...who: string[]): Promise<Lab> {
  const lab = new Lab(scenes['queue']!);
  labs.push(lab);
  await lab.start();
  for (const name of who) {
    await lab.do({ do: 'start', who: name });
    await lab.do({ do: 'wait', ms: 500 });
  }
  return lab;
}

const recordOf = (lab: Lab): LockSnapshot => lab.server.table.snapshot(key, 100);
const broken = (lab: Lab): string[] =>
  lab.guarantees.list.filter(({ state }) => state === 'broken').map(({ id }) => id);
const open = (lab: Lab): string[] => lab.guarantees.list.filter(({ state }) => state === 'open').map(({ id }) => id);
const step = (lab: Lab, forged: Partial<ServerStep>): void =>
  lab.guarantees.stepped({
    ...{ command: 'acquire', name: key, claim: undefined, reply: undefined },
    before: free,
    after: free,
    ...forged,
  });

/** The checks are no decoration: each one finds its guarantee broken when a server or a client breaks it. */
describe('a check of the simulator', () => {
  it('G1 finds a second holder', async () => {
    const lab = await started('A');
    const [holder] = recordOf(lab).holders;
    const second = { ...holder!, id: 'other:1', fencingToken: holder!.fencingToken! + 1 };
    step(lab, { before: recordOf(lab), after: { ...recordOf(lab), holders: [holder!, second] } });
    expect(broken(lab)).toEqual(['G1']);
  });

  it('G2 finds a client that believes in a lock which Redis has ended', async () => {
    const lab = await started('A');
    // Past the simulator, so that it knows of no fault.
    lab.server.table.forgetAll();
    lab.look();
    expect(broken(lab)).toEqual(['G2']);
  });

  it('G3 finds a token that is no larger than one before', async () => {
    const lab = await started('A');
    const [holder] = recordOf(lab).holders;
    const after = { ...recordOf(lab), holders: [{ ...holder!, id: 'other:1' }] };
    step(lab, { before: free, after });
    expect(broken(lab)).toEqual(['G3']);
  });

  it('G4 finds a newcomer that overtakes a live waiter', async () => {
    const lab = await started('A', 'B');
    const before = { ...recordOf(lab), holders: [] };
    const [holder] = recordOf(lab).holders;
    const newcomer = { ...holder!, id: 'other:1', fencingToken: holder!.fencingToken! + 1 };
    step(lab, { before, after: { ...before, holders: [newcomer] } });
    expect(broken(lab)).toEqual(['G4']);
  });

  it('G5 finds a live waiter at a free lock', async () => {
    const lab = await started('A', 'B');
    const { table } = lab.server;
    const { snapshot } = table;
    table.snapshot = (name, most) => ({ ...snapshot.call(table, name, most), holders: [] });
    // The clients are silent.
    lab.processes.get('A')!.locks.length = 0;
    for (let passed = 0; passed <= 5_250; passed += 250) {
      lab.clock.stall(250);
      lab.guarantees.look();
    }
    expect(broken(lab)).toEqual(['G5']);
  });

  it('G6 finds a claim that comes back after its release, and a second grant to one claim', async () => {
    const lab = await started('A');
    const after = recordOf(lab);
    const claim = after.holders[0]!.id;
    step(lab, { claim, before: after, reply: { fencingToken: 1 }, after });
    expect(broken(lab)).toEqual(['G6']);
    const other = await started('A');
    const record = recordOf(other);
    const id = record.holders[0]!.id;
    step(other, { command: 'release', claim: id, before: record, reply: 'released', after: free });
    step(other, { before: record, after: record });
    expect(broken(other)).toEqual(['G6']);
  });

  it('G7 finds a release by a stranger that frees the lock', async () => {
    const lab = await started('A');
    step(lab, { command: 'release', claim: 'other:1', before: recordOf(lab), reply: 'absent', after: free });
    expect(broken(lab)).toEqual(['G7']);
  });

  it('G8 finds a process that has not noticed the end of its lease, and one that believes in it when it wakes up', async () => {
    const lab = await started('A');
    lab.clock.stall(31_000);
    lab.guarantees.look();
    expect(broken(lab)).toEqual(['G8']);
    const other = await started('A');
    other.processes.get('A')!.stop();
    other.clock.stall(31_000);
    other.guarantees.woke(other.processes.get('A')!, [true]);
    expect(broken(other)).toEqual(['G8']);
  });

  it('G9 finds a record that is left behind', async () => {
    const lab = await started('A');
    await lab.do({ do: 'wait', ms: 10_000 });
    await lab.do({ do: 'wait', ms: 61_000 });
    expect(broken(lab)).toEqual([]);
    lab.server.table.acquire({
      ...{ name: key, id: 'left:1', kind: 'exclusive', permits: 1, limit: 0 },
      ...{ lease: 3_600_000, reserve: 0, patience: 0 },
    });
    lab.look();
    expect(broken(lab)).toEqual(['G9']);
  });

  it('G9 finds a timer that is left behind, and none of a process or a waiter that has died', async () => {
    const lab = await started('A', 'B');
    await lab.do({ do: 'redis-away' });
    for (const who of ['A', 'B']) await lab.do({ do: 'kill', who });
    await lab.do({ do: 'redis-back' });
    await lab.do({ do: 'wait', ms: 90_000 });
    expect(broken(lab)).toEqual([]);
    const { client } = lab.processes.get('C')!;
    (client as unknown as { clock: Clock }).clock.timer(3_600_000, () => undefined);
    lab.look();
    expect(broken(lab)).toEqual(['G9']);
  });

  it('calls only G2 open after a release by force, until the holder has learned of it', async () => {
    const lab = await started('A', 'B');
    await lab.do({ do: 'stop', who: 'A' });
    await lab.do({ do: 'force', key });
    expect([open(lab), broken(lab)]).toEqual([['G2'], []]);
    await lab.do({ do: 'continue', who: 'A' });
    await lab.do({ do: 'wait', ms: 10_000 });
    expect([open(lab), broken(lab)]).toEqual([[], []]);
    // A dead process believes in nothing.
    await lab.do({ do: 'start', who: 'C' });
    await lab.do({ do: 'kill', who: 'C' });
    await lab.do({ do: 'force', key });
    expect([open(lab), broken(lab)]).toEqual([[], []]);
  });

  it('finds a newcomer that overtakes also while G2 is open', async () => {
    const lab = await started('A', 'B');
    const [holder] = recordOf(lab).holders;
    const before = { ...recordOf(lab), holders: [] };
    const newcomer = { ...holder!, id: 'other:1', fencingToken: holder!.fencingToken! * 2 };
    await lab.do({ do: 'stop', who: 'A' });
    await lab.do({ do: 'stop', who: 'B' });
    await lab.do({ do: 'force', key });
    lab.processes.get('B')!.state = 'running';
    step(lab, { before, after: { ...before, holders: [newcomer] } });
    expect(broken(lab)).toEqual(['G4']);
  });

  it('calls a guarantee open while a fault by hand breaks its assumptions, until clients and server agree again', async () => {
    const lab = await started('A');
    await lab.do({ do: 'delete', key });
    expect([open(lab), broken(lab)]).toEqual([['G1', 'G2', 'G4'], []]);
    await lab.do({ do: 'wait', ms: 10_000 });
    expect([open(lab), broken(lab)]).toEqual([[], []]);
    await lab.do({ do: 'start', who: 'B' });
    await lab.do({ do: 'clock', ms: 60_000 });
    await lab.do({ do: 'start', who: 'C' });
    expect([open(lab), broken(lab)]).toEqual([['G1', 'G2', 'G4'], []]);
    await lab.do({ do: 'wait', ms: 20_000 });
    expect([open(lab), broken(lab)]).toEqual([[], []]);
    await lab.do({ do: 'redis-away' });
    expect([open(lab), broken(lab)]).toEqual([['G5'], []]);
  });

  it('ignores an action that makes no sense', async () => {
    const lab = await started('A');
    await lab.do({ do: 'kill', who: 'A' });
    const { length } = lab.actions;
    await lab.do({ do: 'continue', who: 'A' });
    await lab.do({ do: 'start', who: 'A' });
    expect([lab.actions.length, lab.processes.get('A')!.state]).toEqual([length, 'dead']);
  });
});
