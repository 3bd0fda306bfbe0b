import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { instruments } from '../../../lib/telemetry/metrics/instruments.js';
import { observeLocks } from '../../../lib/telemetry/metrics/observe-locks.js';
import { lockName } from '../../../lib/key/lock-name.tag.js';
import { VirtualClient } from '../core/virtual-client.js';
import { type Point, Telemetry } from './telemetry.js';

/** The code has a text of this form: names that fit it have a label. */
void lockName`product:${42}`;

/** Another process, as Redis names it. */
const elsewhere = { id: 'abcdefghij.web-1.4711:1.x:Shop.buy', fencingToken: 7, heldFor: 20 };

afterEach(() => liveConnections.clear());

async function waitFor(v: VirtualClient, key: string): Promise<void> {
  const { onAcquire } = v.backend;
  v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere });
  const waiting = v.acquire(key);
  await v.clock.advance(100);
  v.push();
  await (await waiting).release();
  v.backend.onAcquire = onAcquire;
}

describe('the labels of metrics', () => {
  it('have 200 names in a process, then other', async () => {
    using telemetry = new Telemetry({ name: (key) => key });
    const v = new VirtualClient();
    for (let index = 0; index < 203; index++) await (await v.acquire(`product:${index}`)).release();
    await v.acquire('product:7');
    const points = await telemetry.points('redis_lock.wait_time');
    expect(points).toHaveLength(201);
    const counts = new Map(points.map(([attributes, value]) => [attributes['redis_lock.name'], value]));
    expect(counts.get('product:7')).toEqual([0, 2]);
    expect(counts.get('other')).toEqual([0, 3]);
  });

  it('have the own names of the application, from the key and what else is known of the lock', async () => {
    using telemetry = new Telemetry({
      name: (key, { connection, kind }) => `${kind} ${connection} ${key.split(':')[0]}`,
    });
    await new VirtualClient().acquire('product:42');
    const [[attributes]] = (await telemetry.points('redis_lock.wait_time')) as [Point];
    expect(attributes['redis_lock.name']).toBe('exclusive default product');
  });

  it('are the usual ones when the function for names throws, which is one warning and no failed lock', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    using telemetry = new Telemetry({
      name: () => {
        throw new Error('no name');
      },
    });
    const v = new VirtualClient();
    await (await v.acquire('product:42')).release();
    const points = await telemetry.points('redis_lock.hold_time');
    expect(points.map(([attributes]) => attributes['redis_lock.name'])).toEqual(['product:*']);
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ message: 'no name' }), 'RedisLockTelemetryWarning']]);
    warn.mockRestore();
  });

  it('have 200 names of foreign errors in a process, then other', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    await v.acquire('a');
    for (let index = 0; index < 203; index++) {
      const abort = new AbortController();
      const waiting = v.acquire('a', { signal: abort.signal });
      abort.abort(Object.assign(new Error('gone'), { name: `Gone${index}` }));
      await expect(waiting).rejects.toThrow('gone');
    }
    const points = await telemetry.points('redis_lock.wait_time');
    const counts = new Map(points.map(([attributes, value]) => [attributes['error.type'], value]));
    expect(counts.get('Gone0')).toEqual([expect.any(Number), 1]);
    expect(counts.get('other')).toEqual([expect.any(Number), 3]);
  });

  it('are one object for equal ones: a measurement allocates none', async () => {
    const measured: unknown[] = [];
    const metrics = observeLocks({ record: (_instrument, _value, labels) => measured.push(labels) });
    const v = new VirtualClient();
    for (let round = 0; round < 3; round++) await (await v.acquire(`product:${round}`)).release();
    metrics.stop();
    expect(measured).toHaveLength(6);
    expect(new Set(measured).size).toBe(2);
  });

  it('name the method that held the lock only when asked', async () => {
    for (const blockedBy of [false, true]) {
      using telemetry = new Telemetry({ blockedBy });
      await waitFor(new VirtualClient(), 'product:42');
      for (const name of ['redis_lock.wait_time', 'redis_lock.contentions']) {
        const [[attributes]] = (await telemetry.points(name)) as [Point];
        expect(attributes['redis_lock.blocked_by']).toBe(blockedBy ? 'Shop.buy' : undefined);
      }
    }
  });

  it('have 200 methods that held the lock in a process, then other', async () => {
    using telemetry = new Telemetry({ blockedBy: true });
    const v = new VirtualClient();
    for (let index = 0; index < 202; index++) {
      const id = elsewhere.id.replace('Shop.buy', `Shop.buy${index}`);
      v.backend.onAcquire = () => ({ status: 'contended', leaseLeft: 5, holder: { ...elsewhere, id } });
      await v.acquire('product:42', { wait: 0 }).catch(() => undefined);
    }
    const points = await telemetry.points('redis_lock.contentions');
    expect(points).toHaveLength(201);
    const other = points.find(([attributes]) => attributes['redis_lock.blocked_by'] === 'other');
    expect(other).toMatchObject([{}, 2]);
  });

  it('have the name of a foreign error, not its code, which may have any value', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    await v.acquire('a');
    const abort = new AbortController();
    const waiting = v.acquire('a', { signal: abort.signal });
    abort.abort(Object.assign(new TypeError('order 4711'), { code: 'order 4711' }));
    await waiting.catch(() => undefined);
    const points = await telemetry.points('redis_lock.wait_time');
    expect(points.map(([attributes]) => attributes['error.type'])).toEqual([undefined, 'TypeError']);
  });

  it('are those of the table, and never a key, host, process or token', async () => {
    using telemetry = new Telemetry({ blockedBy: true });
    const v = new VirtualClient();
    await waitFor(v, 'product:90017');
    const lock = await v.acquire('product:90018', { lease: 900, renew: true });
    await v.clock.advance(300);
    await v.acquire('product:90018', { wait: 0 }).catch(() => undefined);
    const told = await telemetry.metrics();
    for (const { descriptor, dataPoints } of told) {
      const instrument = Object.values(instruments).find(({ name }) => name === descriptor.name);
      for (const { attributes } of dataPoints) {
        expect(instrument!.attributes).toEqual(expect.arrayContaining(Object.keys(attributes)));
        expect(JSON.stringify(attributes)).not.toMatch(/9001|web-1|4711|[0-9]{6}/);
      }
    }
    expect(told.map(({ descriptor }) => descriptor.name)).toContain('redis_lock.renewals');
    await lock.release();
  });

  it('of gauges end with their connection', async () => {
    const v = new VirtualClient();
    const metrics = observeLocks({ record: () => undefined });
    const read = () => [...metrics.read(instruments.held)].map(({ value }) => value);
    const lock = await v.acquire('a');
    expect(read()).toEqual([1]);
    await lock.release();
    expect(read()).toEqual([0]);
    await v.close();
    expect(read()).toEqual([]);
    metrics.stop();
  });
});

describe('the instruments', () => {
  it('have the units and limits of the table, as advice for histograms', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    await (await v.acquire('a')).release();
    await v.acquire('a');
    const told = (await telemetry.metrics()).map(({ descriptor: { name, unit }, dataPoints: [point] }) => [
      name,
      [unit, (point?.value as Partial<Histogram> | undefined)?.buckets?.boundaries],
    ]);
    expect(Object.fromEntries(told)).toEqual({
      'redis_lock.wait_time': ['s', [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]],
      'redis_lock.hold_time': ['s', [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800]],
      'redis_lock.held': ['{lock}', undefined],
      'redis_lock.waiting': ['{caller}', undefined],
      'redis_lock.available': ['{server}', undefined],
    });
  });
});
