import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockTable } from '../../../lib/backends/memory/lock-table.js';

const name = 'report';
let now: number;
let told: string[];
let table: LockTable;

beforeEach(() => {
  now = 1_000_000;
  told = [];
  table = new LockTable(() => now, {
    hears: () => true,
    publish: (_client, { id: claim }) => told.push(`granted ${claim}`),
    revoked: (_client, { id: claim }) => told.push(`revoked ${claim}`),
    freeAfter: (_client, { id: claim }, rest) => told.push(`${claim} asks after ${rest}`),
  });
});

const ask = (claim: string) =>
  table.acquire({
    ...{ name, id: claim, kind: 'exclusive', permits: 1, limit: 0, lease: 20_000, reserve: 0, patience: 10_000 },
  });
const look = () => {
  const { holders, waiters } = table.snapshot(name, 10);
  return { holders: holders.map(({ id: claim }) => claim), waiters: waiters.map(({ id: claim }) => claim) };
};

describe('the lock table in memory', () => {
  it('lists no waiter that has not asked for longer than its patience', () => {
    ask('a:0');
    ask('b:0');
    now += 10_000;
    expect(look()).toEqual({ holders: ['a:0'], waiters: ['b:0'] });
    now += 1;
    expect(look()).toEqual({ holders: ['a:0'], waiters: [] });
  });

  it('notifies a revoked holder, and grants the lock to the next waiter if a new holder never confirms', () => {
    ask('a:0');
    ask('b:0');
    table.release(name, 'a:0');
    expect(look()).toEqual({ holders: ['b:0'], waiters: [] });
    expect(table.revoke(name, table.snapshot(name, 0).holders)).toEqual(['b:0']);
    expect(told).toEqual(['granted b:0', 'revoked b:0']);
    expect(look()).toEqual({ holders: [], waiters: [] });
  });

  it('moves no hold that was released and is only kept by minHold', () => {
    ask('a:0');
    const [{ fencingToken = 0 } = {}] = table.snapshot(name, 0).holders;
    table.release(name, 'a:0', 5_000);
    const adoption = { name, id: 'b:0', from: 'a:0', fencingToken, lease: 20_000, giveUpAt: 0 };
    expect(['gone', 'taken']).toContain(table.adopt(adoption));
    expect(look().holders).toEqual(['a:0']);
  });

  it('moves a hold with a later token of its block, and returns the same for a repeated move', () => {
    ask('a:0');
    const [{ fencingToken: token = 0 } = {}] = table.snapshot(name, 0).holders;
    table.renew({ name, id: 'a:0', fencingToken: token, lease: 20_000, reserve: 0, least: token + 5 });
    const adoption = { name, id: 'b:0', from: 'a:0', fencingToken: token + 2, lease: 20_000, giveUpAt: 0 };
    for (let times = 0; times < 2; times++) expect(table.adopt(adoption)).toEqual({ rest: 20_000 });
    expect(table.snapshot(name, 0).holders).toMatchObject([{ id: 'b:0', fencingToken: token + 2 }]);
  });
});
