import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Counter, Registry, register } from 'prom-client';
import { type LockMetricsOptions, registerLockMetrics } from 'nestjs-redis-lock/prometheus';
import { channels } from '../../../lib/diagnostics/channels.js';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { lockName } from '../../../lib/key/lock-name.tag.js';
import { VirtualClient } from '../core/virtual-client.js';

/** The code has a text of this form: names that fit it have a label. */
void lockName`product:${42}`;

let registry: Registry;
let end: () => void;
let v: VirtualClient;
const begin = (options: LockMetricsOptions = {}): void => {
  end = registerLockMetrics({ registry, ...options });
};
beforeEach(() => {
  registry = new Registry();
  v = new VirtualClient();
});
afterEach(() => {
  end();
  liveConnections.clear();
});

/** Another process, as Redis names it. */
const elsewhere = { id: 'abcdefghij.web-1.4711:1.x:Shop.buy', fencingToken: 7, heldFor: 20 };

/** What a scrape gets. */
const lines = async (): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const linesOf = async (name: string): Promise<string[]> =>
  (await lines()).filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

const product = 'redis_lock_name="product:*",redis_lock_connection="default",redis_lock_kind="exclusive"';

describe('the metrics of locks for Prometheus', () => {
  it('have the names, types and buckets that OpenTelemetry gives them in Prometheus', async () => {
    begin();
    const metrics = await registry.getMetricsAsJSON();
    expect(Object.fromEntries(metrics.map(({ name, type }) => [name, String(type)]))).toEqual({
      redis_lock_wait_time_seconds: 'histogram',
      redis_lock_hold_time_seconds: 'histogram',
      redis_lock_held: 'gauge',
      redis_lock_waiting: 'gauge',
      redis_lock_leader: 'gauge',
      redis_lock_contentions_total: 'counter',
      redis_lock_lost_total: 'counter',
      redis_lock_lost_timestamp_seconds: 'gauge',
      redis_lock_handoffs_total: 'counter',
      redis_lock_renewals_total: 'counter',
      redis_lock_lease_left: 'histogram',
      redis_lock_force_releases_total: 'counter',
      redis_lock_available: 'gauge',
    });
    await (await v.acquire('product:42')).release();
    const buckets = (await linesOf('redis_lock_wait_time_seconds_bucket')).map((line) => /le="([^"]+)"/.exec(line)![1]);
    expect(buckets).toEqual(['0.001', '0.005', '0.01', '0.05', '0.1', '0.5', '1', '5', '10', '30', '60', '+Inf']);
  });

  it('have waits, holds, contentions and hand-offs with their labels, and no key', async () => {
    begin();
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere });
    const waiting = v.acquire('product:42');
    await v.clock.advance(300);
    v.push();
    const lock = await waiting;
    await v.clock.advance(2_000);
    await lock.release();
    const late = v.acquire('product:42', { wait: 200 }).catch(() => undefined);
    await v.clock.advance(200);
    await late;
    expect(await linesOf('redis_lock_wait_time_seconds_sum')).toEqual([
      `redis_lock_wait_time_seconds_sum{${product},redis_lock_outcome="acquired"} 0.3`,
      `redis_lock_wait_time_seconds_sum{${product},redis_lock_outcome="timeout",error_type="LOCK_WAIT_TIMEOUT"} 0.2`,
    ]);
    expect(await linesOf('redis_lock_hold_time_seconds_sum')).toEqual([
      `redis_lock_hold_time_seconds_sum{${product},redis_lock_outcome="released"} 2`,
    ]);
    expect(await linesOf('redis_lock_contentions_total')).toEqual([`redis_lock_contentions_total{${product}} 2`]);
    expect(await linesOf('redis_lock_handoffs_total')).toEqual([
      `redis_lock_handoffs_total{${product},redis_lock_scope="remote"} 1`,
    ]);
    expect((await lines()).join('\n')).not.toContain('product:42');
  });

  it('have the code of the error of a request that ended without its lock, and the method that blocked it if asked', async () => {
    begin({ blockedBy: true });
    v.backend.onAcquire = () => ({ status: 'contended', leaseLeft: 500, holder: elsewhere });
    await v.acquire('product:42', { wait: 0 }).catch(() => undefined);
    const labels = `${product},redis_lock_blocked_by="Shop.buy",redis_lock_outcome="contended",error_type="LOCK_CONTENDED"`;
    expect(await linesOf('redis_lock_wait_time_seconds_count')).toEqual([
      `redis_lock_wait_time_seconds_count{${labels}} 1`,
    ]);
  });

  it('leave out of the rest of leases what was left of a grant by message: it is short by nature', async () => {
    begin();
    v.letWait();
    const pushed = v.acquire('product:42', { lease: '60s', renew: true });
    await v.clock.advance(1);
    v.push();
    await pushed;
    await v.clock.advance(1_000);
    expect(await linesOf('redis_lock_renewals_total')).toEqual([
      `redis_lock_renewals_total{${product},redis_lock_outcome="renewed"} 1`,
    ]);
    expect(await linesOf('redis_lock_lease_left_count')).toEqual([]);
  });

  it('label locks by a function of the application', async () => {
    begin({ name: (key) => key.split(':')[0]!.toUpperCase() });
    await v.acquire('product:42');
    expect(await linesOf('redis_lock_held')).toEqual([
      'redis_lock_held{redis_lock_name="PRODUCT",redis_lock_connection="default",redis_lock_kind="exclusive"} 1',
    ]);
  });

  it('have renewals, what was left of the lease, and losses', async () => {
    begin();
    const lock = await v.acquire('product:42', { lease: 900, renew: true });
    await v.clock.advance(300);
    v.backend.onRenew = (all) => all.map(() => 'lost');
    await v.clock.advance(300);
    await lock.release();
    expect(await linesOf('redis_lock_renewals_total')).toEqual([
      `redis_lock_renewals_total{${product},redis_lock_outcome="renewed"} 1`,
      `redis_lock_renewals_total{${product},redis_lock_outcome="lost"} 1`,
    ]);
    expect(await linesOf('redis_lock_lease_left_count')).toHaveLength(2);
    expect(await linesOf('redis_lock_lost_total')).toEqual([
      `redis_lock_lost_total{${product},redis_lock_reason="revoked"} 1`,
    ]);
    const [lost = ''] = await linesOf('redis_lock_lost_timestamp_seconds');
    expect(lost).toContain(`{${product},redis_lock_reason="revoked"} `);
    // Seconds since 1970, in this minute or the one before.
    expect(Math.abs(Number(lost.split(' ').at(-1)) - Date.now() / 1000)).toBeLessThan(60);
  });

  it('show at each scrape what is held and waited for at that moment, and which servers are available', async () => {
    begin();
    Object.assign(v.backend, {
      availability: () => [
        ['a:6379', true],
        ['b:6379', false],
      ],
    });
    const [first, second] = ['product:1', 'product:1'].map((key) => v.acquire(key));
    await first;
    expect([...(await linesOf('redis_lock_held')), ...(await linesOf('redis_lock_waiting'))]).toEqual([
      `redis_lock_held{${product}} 1`,
      `redis_lock_waiting{${product}} 1`,
    ]);
    await (await first!).release();
    await (await second!).release();
    expect([...(await linesOf('redis_lock_held')), ...(await linesOf('redis_lock_waiting'))]).toEqual([
      `redis_lock_held{${product}} 0`,
      `redis_lock_waiting{${product}} 0`,
    ]);
    expect(await linesOf('redis_lock_available')).toEqual([
      'redis_lock_available{redis_lock_connection="default",redis_lock_server="a:6379"} 1',
      'redis_lock_available{redis_lock_connection="default",redis_lock_server="b:6379"} 0',
    ]);
    liveConnections.clear();
    expect(await linesOf('redis_lock_available')).toEqual([]);
  });

  it('say of two connections of one name that a server is available when it is for both', async () => {
    begin();
    const other = new VirtualClient();
    for (const [client, isAvailable] of [
      [v, false],
      [other, true],
    ] as const)
      Object.assign(client.backend, { availability: () => [['a:6379', isAvailable]] });
    await Promise.all([v, other].map((client) => client.acquire('product:1')));
    expect([...(await linesOf('redis_lock_available')), ...(await linesOf('redis_lock_held'))]).toEqual([
      'redis_lock_available{redis_lock_connection="default",redis_lock_server="a:6379"} 0',
      `redis_lock_held{${product}} 2`,
    ]);
  });

  it('add up over the workers of one Node application, but for availability, which is that of the worst worker, and the last loss of all', async () => {
    begin();
    const metrics = await registry.getMetricsAsJSON();
    const aggregators = metrics.flatMap(({ name, aggregator }) => (aggregator === 'sum' ? [] : [[name, aggregator]]));
    expect(aggregators).toEqual([
      ['redis_lock_lost_timestamp_seconds', 'max'],
      ['redis_lock_available', 'min'],
    ]);
  });

  it('are in the global registry of prom-client unless another one is given', async () => {
    end = registerLockMetrics();
    await (await v.acquire('product:42')).release();
    expect(await register.metrics()).toContain(`redis_lock_hold_time_seconds_count{${product}`);
    expect(await lines()).toEqual([]);
  });

  it('are removed by the function that was returned, and nothing is measured any more', async () => {
    begin();
    expect(channels.acquire.hasSubscribers).toBe(true);
    end();
    expect(channels.acquire.hasSubscribers).toBe(false);
    await v.acquire('product:42');
    expect(await registry.getMetricsAsJSON()).toEqual([]);
    begin();
    expect(await linesOf('redis_lock_wait_time_seconds_count')).toEqual([]);
  });

  it('stay when the function of an earlier registration is called again', async () => {
    begin();
    const endFirst = end;
    endFirst();
    begin();
    endFirst();
    await v.acquire('product:42');
    expect(await linesOf('redis_lock_held')).toEqual([`redis_lock_held{${product}} 1`]);
  });

  it('can be in several registries', async () => {
    const other = new Registry();
    begin();
    const endOther = registerLockMetrics({ registry: other });
    await (await v.acquire('product:42')).release();
    expect(await linesOf('redis_lock_wait_time_seconds_count')).toHaveLength(1);
    expect(await other.metrics()).toContain('redis_lock_wait_time_seconds_count{');
    endOther();
  });
});

describe('registerLockMetrics', () => {
  it('refuses a second call for one registry, and says how the first is ended', () => {
    begin();
    expect(() => registerLockMetrics({ registry })).toThrow(
      expect.objectContaining({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining('end the first call by the function that it returned'),
      }),
    );
  });

  it('refuses a registry with a metric of the application that has such a name, and changes nothing there', async () => {
    new Counter({ name: 'redis_lock_lost_total', help: 'own', registers: [registry] });
    expect(() => registerLockMetrics({ registry })).toThrow(/has a metric redis_lock_lost_total already/);
    expect(await registry.getMetricsAsJSON()).toHaveLength(1);
    registry.clear();
    begin();
  });

  it.each([
    [{ registry: 'default' }, /registry: 'default' given, a Registry of prom-client expected/],
    [{ name: 'product' }, /name: 'product' given; a function/],
    [{ register: {} }, /there is no option 'register'/],
  ])('refuses the options %j', (options, message) => {
    begin();
    expect(() => registerLockMetrics(options as never)).toThrow(
      expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(message) }),
    );
  });
});
