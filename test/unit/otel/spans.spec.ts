import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-node';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LockHoldContext } from '../../../lib/diagnostics/channels.js';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { lockName } from '../../../lib/key/lock-name.tag.js';
import { unanswered } from '../../support/scripted-backend.js';
import { settled } from '../../support/virtual-clock.js';
import { VirtualClient } from '../core/virtual-client.js';
import { Telemetry } from './telemetry.js';

/** The code has texts of these forms: names that fit one have a label. */
void [lockName`product:${42}`, lockName`a`, lockName`b`];

afterEach(() => liveConnections.clear());

const traceId = 'a'.repeat(32);
const spanId = 'b'.repeat(16);
/** Another process, as Redis names it. */
const elsewhere = { id: `abcdefghij.web-1.4711:1.x:Shop.buy:${traceId}-${spanId}`, fencingToken: 7, heldFor: 20 };

/** One caller holds the lock, in a request of its own. The second waits for 40 ms, in another one, and works. */
async function contend(v: VirtualClient, telemetry: Telemetry, work: () => void = () => undefined): Promise<void> {
  const first = await telemetry.request('first request', () => v.acquire('product:42'));
  const second = telemetry.request('second request', async () => {
    const scope = await v.enter('product:42');
    scope.run(work);
    await scope.leave('worked');
  });
  await v.clock.advance(40);
  await first.release();
  await second;
}

describe('the span of a wait', () => {
  it('is there for a caller that waited, in its request, with the real times, and links to the one that it waited for', async () => {
    using telemetry = new Telemetry();
    await contend(new VirtualClient(), telemetry);
    const span = telemetry.span('lock wait product:*');
    const [first, second] = [telemetry.span('first request'), telemetry.span('second request')];
    expect(span).toMatchObject({
      kind: SpanKind.INTERNAL,
      parentSpanContext: { spanId: second.spanContext().spanId },
      status: { code: SpanStatusCode.UNSET },
      duration: [0, 40_000_000],
    });
    expect(span.attributes).toEqual({
      'redis_lock.name': 'product:*',
      'redis_lock.connection': 'default',
      'redis_lock.kind': 'exclusive',
      'redis_lock.outcome': 'acquired',
      'redis_lock.fencing_token': expect.any(Number),
      'redis_lock.waited_ms': 40,
      'redis_lock.holder.host': expect.any(String),
      'redis_lock.holder.pid': process.pid,
      'redis_lock.holder.fencing_token': expect.any(Number),
    });
    // The holder got its lock at once: the link leads to its request.
    expect(span.links.map((link) => link.context.spanId)).toEqual([first.spanContext().spanId]);
  });

  it('links to the span of the hold where the holder has one, also when that hold has ended', async () => {
    using telemetry = new Telemetry({ spans: 'all' });
    await contend(new VirtualClient(), telemetry);
    const [hold] = telemetry.spans.filter(({ name }) => name === 'lock hold product:*');
    const wait = telemetry.spans.find(({ links }) => links.length > 0);
    expect(wait!.links).toEqual([{ context: hold!.spanContext() }]);
  });

  it('links to the last of several holders', async () => {
    using telemetry = new Telemetry({ spans: 'all' });
    const v = new VirtualClient();
    const locks = ['a', 'b', 'c'].map((name) => telemetry.request(name, () => v.acquire('product:42')));
    for (const lock of locks) await (await lock).release();
    const holds = telemetry.spans.filter(({ name }) => name.startsWith('lock hold'));
    const waits = telemetry.spans.filter(({ name }) => name.startsWith('lock wait'));
    const ids = (spans: typeof holds) => spans.map((span) => span.spanContext().spanId);
    expect(waits.map(({ links }) => links.map((link) => link.context.spanId))).toEqual([
      [],
      ids(holds).slice(0, 1),
      ids(holds).slice(1, 2),
    ]);
  });

  it('links to that one of several present holders that the reply names', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    const take = (name: string) => telemetry.request(name, () => v.acquire('seats', { limit: 2, wait: 0 }));
    const { fencingToken } = await take('first');
    await take('second');
    v.backend.onAcquire = () => ({ status: 'contended', leaseLeft: 500, holder: { ...elsewhere, fencingToken } });
    await take('third').catch(() => undefined);
    const [link] = telemetry.span('lock wait *').links;
    expect(link!.context).toEqual(telemetry.span('first').spanContext());
  });

  it('is not there for a free lock, except with spans: all', async () => {
    for (const spans of [undefined, 'contended', 'none', 'all'] as const) {
      using telemetry = new Telemetry({ spans });
      await (await new VirtualClient().acquire('a')).release();
      const names = telemetry.spans.map(({ name }) => name);
      expect(names).toEqual(spans === 'all' ? ['lock wait a', 'lock hold a'] : []);
    }
  });

  it('is not there with spans: none', async () => {
    using telemetry = new Telemetry({ spans: 'none' });
    await contend(new VirtualClient(), telemetry);
    expect(telemetry.spans.map(({ name }) => name)).toEqual(['first request', 'second request']);
  });

  it('fails with the code of the error, and without the key that its message has', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    v.backend.onAcquire = () => Promise.reject(unanswered());
    await v.acquire('product:42').catch(() => undefined);
    const { attributes, status, events } = telemetry.span('lock wait product:*');
    expect(attributes).toMatchObject({ 'redis_lock.outcome': 'unavailable', 'error.type': 'LOCK_UNAVAILABLE' });
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'unavailable' });
    expect(JSON.stringify({ attributes, status, events })).not.toContain('42');
  });

  it('of one try for a lock that is taken is no failure, and says who has it', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    v.backend.onAcquire = () => ({ status: 'contended', leaseLeft: 500, holder: elsewhere });
    await v.acquire('product:42', { wait: 0 }).catch(() => undefined);
    expect(telemetry.span('lock wait product:*')).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'redis_lock.outcome': 'contended',
        'redis_lock.holder.method': 'Shop.buy',
        'redis_lock.holder.host': 'web-1',
        'redis_lock.holder.pid': 4711,
        'redis_lock.holder.fencing_token': 7,
      },
    });
  });

  it('has the key only when asked', async () => {
    using telemetry = new Telemetry({ keys: true });
    await contend(new VirtualClient(), telemetry);
    for (const what of ['wait', 'hold'])
      expect(telemetry.span(`lock ${what} product:*`).attributes['redis_lock.key']).toBe('product:42');
  });

  it('is not there for the steps of a call for several names that its caller does not see', async () => {
    using telemetry = new Telemetry({ spans: 'all' });
    const v = new VirtualClient();
    v.backend.onAcquire = ({ name, enqueue, lease }) =>
      name === 'b' && !enqueue ? { status: 'contended', leaseLeft: 500 } : v.backend.grant(lease);
    await v.acquireAll(['a', 'b']);
    expect(telemetry.spans.map(({ name }) => name)).toEqual(['lock wait a', 'lock wait b']);
  });
});

describe('the span of a hold', () => {
  it('is the active one in the work, and a child of the request', async () => {
    using telemetry = new Telemetry();
    let active: string | undefined;
    await contend(new VirtualClient(), telemetry, () => {
      active = trace.getSpan(context.active())?.spanContext().spanId;
    });
    const span = telemetry.span('lock hold product:*');
    expect(active).toBe(span.spanContext().spanId);
    expect(span.parentSpanContext?.spanId).toBe(telemetry.span('second request').spanContext().spanId);
    expect(span.attributes).toEqual({
      'redis_lock.name': 'product:*',
      'redis_lock.connection': 'default',
      'redis_lock.kind': 'exclusive',
      'redis_lock.outcome': 'released',
      'redis_lock.fencing_token': expect.any(Number),
      'redis_lock.waited_ms': 40,
    });
  });

  it('runs the work inside what another subscriber runs it in, too', async () => {
    const ran: string[] = [];
    const listener = (hold: LockHoldContext): void => {
      hold.run = (work) => {
        ran.push(hold.key);
        return work();
      };
    };
    subscribe('tracing:nestjs-redis-lock:hold:start', listener as ChannelListener);
    using telemetry = new Telemetry({ spans: 'all' });
    const scope = await new VirtualClient().enter('a');
    const active = scope.run(() => trace.getSpan(context.active())?.spanContext().spanId);
    await scope.leave('worked');
    unsubscribe('tracing:nestjs-redis-lock:hold:start', listener as ChannelListener);
    expect(telemetry.span('lock hold a').spanContext().spanId).toBe(active);
    expect(ran).toEqual(['a']);
  });

  it('fails when the lock is lost, with the reason, and ends with the work', async () => {
    using telemetry = new Telemetry({ spans: 'all' });
    const v = new VirtualClient();
    const lock = await v.acquire('product:42', { lease: 1_000 });
    await v.clock.advance(1_000);
    expect(telemetry.spans.map(({ name }) => name)).toEqual(['lock wait product:*']);
    await lock.release();
    const { attributes, status, events } = telemetry.span('lock hold product:*');
    expect(attributes).toMatchObject({ 'redis_lock.outcome': 'lost', 'error.type': 'LOCK_LOST' });
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'lock lost: expired' });
    expect(events).toMatchObject([{ name: 'lock lost', attributes: { 'redis_lock.reason': 'expired' } }]);
  });
});

describe('links between processes', () => {
  it('lead to the span that a claim names', async () => {
    using telemetry = new Telemetry();
    const v = new VirtualClient();
    v.backend.onAcquire = () => ({ status: 'queued', askAt: v.clock.now() + 5_000, holder: elsewhere });
    const lock = v.acquire('product:42');
    await settled();
    v.push();
    await lock;
    expect(telemetry.span('lock wait product:*')).toMatchObject({
      attributes: { 'redis_lock.holder.method': 'Shop.buy' },
      links: [{ context: { traceId, spanId, isRemote: true } }],
    });
  });

  it.each([
    ['names the span of the caller when asked', { linkProcesses: true }, true],
    ['names none by default', {}, false],
  ])('the claim %s', async (_title, config, isNamed) => {
    using telemetry = new Telemetry(config);
    const v = new VirtualClient();
    const span = await telemetry.request('request', async () => {
      await v.acquire('product:42');
      return trace.getSpan(context.active())!.spanContext();
    });
    expect(v.backend.acquired[0]!.id).toMatch(
      isNamed ? new RegExp(`^[^:]+:[^:]+:${span.traceId}-${span.spanId}$`) : /^[^:]+:[^:]+$/,
    );
  });

  it('are not offered by a request that is not sampled, or outside of one', async () => {
    using telemetry = new Telemetry({ linkProcesses: true }, { sampler: new AlwaysOffSampler() });
    const v = new VirtualClient();
    await telemetry.request('request', () => v.acquire('a'));
    await v.acquire('b');
    expect(v.backend.acquired.map(({ id }) => id.split(':').length)).toEqual([2, 2]);
  });
});
