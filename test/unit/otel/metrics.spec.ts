import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { lockName } from '../../../lib/key/lock-name.tag.js';
import { settled } from '../../support/virtual-clock.js';
import { unanswered } from '../../support/scripted-backend.js';
import { VirtualClient } from '../core/virtual-client.js';
import { type Point, Telemetry } from './telemetry.js';

/** The code has texts of these forms: names that fit one have a label. */
void [lockName`product:${42}`, lockName`a`, lockName`b`];

const product = {
  'redis_lock.name': 'product:*',
  'redis_lock.connection': 'default',
  'redis_lock.kind': 'exclusive',
};
const outcome = (value: string) => ({ ...product, 'redis_lock.outcome': value });
/** Another process, as Redis names it. */
const elsewhere = { id: 'abcdefghij.web-1.4711:1.x:Shop.buy', fencingToken: 7, heldFor: 20 };

let telemetry: Telemetry;
let v: VirtualClient;
beforeEach(() => {
  telemetry = new Telemetry();
  v = new VirtualClient();
});
afterEach(() => {
  telemetry[Symbol.dispose]();
  liveConnections.clear();
});

/** From now on another process holds the locks. */
const heldElsewhere = (): void => {
  v.backend.onAcquire = ({ enqueue }) =>
    enqueue
      ? { status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere }
      : { status: 'contended', leaseLeft: 500, holder: elsewhere };
};

describe('OpenTelemetry metrics', () => {
  it('have the time from the call to the grant, and from the grant to the end of the work, in seconds', async () => {
    heldElsewhere();
    const waiting = v.acquire('product:42');
    await v.clock.advance(300);
    v.push();
    const lock = await waiting;
    await v.clock.advance(2_000);
    await lock.release();
    expect(await telemetry.points('redis_lock.wait_time')).toEqual([[outcome('acquired'), [0.3, 1]]]);
    expect(await telemetry.points('redis_lock.hold_time')).toEqual([[outcome('released'), [2, 1]]]);
    expect(await telemetry.points('redis_lock.contentions')).toEqual([[product, 1]]);
    expect(await telemetry.points('redis_lock.handoffs')).toEqual([[{ ...product, 'redis_lock.scope': 'remote' }, 1]]);
  });

  it('say why a request ended without its lock, with the code of its error', async () => {
    v = new VirtualClient({ maxWaiters: 1 });
    heldElsewhere();
    const ends = [
      v.acquire('product:1', { wait: 0 }),
      v.acquire('product:2', { wait: 200 }),
      v.acquire('product:3', { wait: 200 }),
    ].map((end) => end.catch(() => undefined));
    await v.clock.advance(200);
    await Promise.all(ends);
    v.backend.onAcquire = () => Promise.reject(unanswered());
    await v.acquire('product:4').catch(() => undefined);
    const points = await telemetry.points('redis_lock.wait_time');
    const codes = points.map(([attributes]) => [attributes['redis_lock.outcome'], attributes['error.type']]);
    expect(Object.fromEntries(codes)).toEqual({
      contended: 'LOCK_CONTENDED',
      timeout: 'LOCK_WAIT_TIMEOUT',
      queue_full: 'LOCK_QUEUE_FULL',
      unavailable: 'LOCK_UNAVAILABLE',
    });
  });

  it('show a request that its caller aborted', async () => {
    heldElsewhere();
    const abort = new AbortController();
    const waiting = v.acquire('product:1', { signal: abort.signal }).catch(() => undefined);
    await settled();
    abort.abort();
    await waiting;
    const attributes = { ...outcome('aborted'), 'error.type': 'AbortError' };
    expect(await telemetry.points('redis_lock.wait_time')).toMatchObject([[attributes, [0, 1]]]);
  });

  it('do not count the steps of a call for several names that its caller does not see', async () => {
    let isFree = false;
    v.backend.onAcquire = ({ name, lease }) =>
      name === 'b' && !isFree ? ((isFree = true), { status: 'contended', leaseLeft: 500 }) : v.backend.grant(lease);
    await v.acquireAll(['a', 'b']);
    const points = await telemetry.points('redis_lock.wait_time');
    expect(
      points.map(([attributes, value]) => [attributes['redis_lock.name'], attributes['redis_lock.outcome'], value]),
    ).toEqual([
      ['a', 'acquired', [0, 1]],
      ['b', 'acquired', [0, 1]],
    ]);
  });

  it('count hand-offs inside the process apart from those to another one', async () => {
    const [first, second] = [v.acquire('product:1'), v.acquire('product:1')];
    await (await first).release();
    const third = v.acquire('product:1');
    await (await second).release();
    await third;
    expect(await telemetry.points('redis_lock.handoffs')).toEqual([[{ ...product, 'redis_lock.scope': 'local' }, 1]]);
  });

  it('count lost locks by reason, and show their holds as lost', async () => {
    const lock = await v.acquire('product:42', { lease: 1_000 });
    await v.clock.advance(1_500);
    expect(await telemetry.points('redis_lock.lost')).toEqual([[{ ...product, 'redis_lock.reason': 'expired' }, 1]]);
    await lock.release();
    expect(await telemetry.points('redis_lock.hold_time')).toEqual([[outcome('lost'), [1.5, 1]]]);
  });

  it('tell when a lock was last lost, so that a loss after a restart is not taken for the one before it', async () => {
    const before = Date.now() / 1000;
    await v.acquire('product:42', { lease: 1_000 });
    await v.clock.advance(1_500);
    const [[attributes, first]] = (await telemetry.points('redis_lock.lost.timestamp')) as [Point];
    expect(attributes).toEqual({ ...product, 'redis_lock.reason': 'expired' });
    expect(first).toBeGreaterThanOrEqual(before);
    expect(first).toBeLessThanOrEqual(Date.now() / 1000);
    while (Date.now() / 1000 === first);
    await v.acquire('product:43', { lease: 1_000 });
    await v.clock.advance(1_500);
    const [[, second], ...others] = (await telemetry.points('redis_lock.lost.timestamp')) as [Point];
    expect(others).toEqual([]);
    expect(second).toBeGreaterThan(first as number);
  });

  it('count renewals, and have the share of the lease that was left at their reply', async () => {
    await v.acquire('product:42', { lease: 900, renew: true });
    await v.clock.advance(300);
    v.backend.onRenew = (all) => all.map(() => 'unanswered');
    await v.clock.advance(300);
    expect(await telemetry.points('redis_lock.renewals')).toEqual([
      [outcome('renewed'), 1],
      [outcome('unanswered'), 1],
    ]);
    // 900 ms less what the clocks may differ (0.9 ms of drift, 2 ms), a third of it gone.
    expect(await telemetry.points('redis_lock.lease.left')).toEqual([
      [outcome('renewed'), [expect.closeTo(597.1 / 900, 6), 1]],
      [outcome('unanswered'), [expect.closeTo(597.1 / 900, 6), 1]],
    ]);
  });

  it('have equal shares for leases of different lengths under one label: none of them looks short beside the other', async () => {
    await v.acquire('product:1', { lease: '3s', renew: true });
    await v.acquire('product:2', { lease: '30s', renew: true });
    await v.clock.advance(10_500);
    const [[, [sum, count]], ...others] = (await telemetry.points('redis_lock.lease.left')) as [[object, number[]]];
    expect(others).toEqual([]);
    // Ten of the short lease, one of the long one.
    expect(count).toBe(11);
    expect(sum! / count!).toBeCloseTo(2 / 3, 2);
  });

  it('show what the process holds and waits for now, and 0 for a name whose locks are free again', async () => {
    const [first, second, third] = ['product:1', 'product:1', 'product:2'].map((key) => v.acquire(key));
    await Promise.all([first, third]);
    const gauges = async () => ({
      held: await telemetry.points('redis_lock.held'),
      waiting: await telemetry.points('redis_lock.waiting'),
    });
    expect(await gauges()).toEqual({ held: [[product, 2]], waiting: [[product, 1]] });
    await (await first!).release();
    await (await second!).release();
    await (await third!).release();
    expect(await gauges()).toEqual({ held: [[product, 0]], waiting: [[product, 0]] });
  });

  it('show of each election that the process stands for whether it leads, also after the campaign', async () => {
    const [leads, waits] = ['scheduler', 'reports'].map((name) => v.election(name));
    v.election('only looked at');
    const over = new AbortController();
    void leads!.campaign(() => new Promise(() => undefined), { signal: over.signal });
    await settled();
    heldElsewhere();
    void waits!.campaign(() => undefined);
    await settled();
    const points = async () =>
      (await telemetry.points('redis_lock.leader')).map(([attributes, value]) => [
        attributes['redis_lock.name'],
        value,
      ]);
    expect(await points()).toEqual([
      ['scheduler', 1],
      ['reports', 0],
    ]);
    over.abort();
    expect(await points()).toEqual([
      ['scheduler', 0],
      ['reports', 0],
    ]);
  });

  it('show whether each server of a connection is available', async () => {
    const servers = [
      ['a:6379', true],
      ['b:6379', false],
    ];
    Object.assign(v.backend, { availability: () => servers });
    const server = (address: string) => ({ 'redis_lock.connection': 'default', 'redis_lock.server': address });
    expect(await telemetry.points('redis_lock.available')).toEqual([
      [server('a:6379'), 1],
      [server('b:6379'), 0],
    ]);
  });

  it('count locks that were released by force', async () => {
    const holders = [{ ...elsewhere, leaseLeft: 100, state: 'held', permits: 1 }];
    Object.assign(v.backend, {
      inspect: async () => ({ kind: 'exclusive', limit: undefined, holders, waiters: [] }),
      revoke: async () => [elsewhere.id],
    });
    await v.operators.views.forceRelease('product:42');
    expect(await telemetry.points('redis_lock.force_releases')).toEqual([[product, 1]]);
  });
});
