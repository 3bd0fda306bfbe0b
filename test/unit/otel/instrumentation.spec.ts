import type { Meter } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { instrument, RedisLockInstrumentation } from 'nestjs-redis-lock/otel';
import { channels } from '../../../lib/diagnostics/channels.js';
import { liveConnections } from '../../../lib/diagnostics/live-connections.js';
import { requestsAreObserved } from '../../../lib/core/observation.js';
import { VirtualClient } from '../core/virtual-client.js';
import { Telemetry } from './telemetry.js';

afterEach(() => liveConnections.clear());

/** Not of forced releases: each open client of this process subscribes to them. */
const isObserved = (): boolean => requestsAreObserved() || channels.renewed.hasSubscribers;

async function useLock(): Promise<void> {
  const scope = await new VirtualClient().enter('a');
  scope.run(() => undefined);
  await scope.leave('worked');
}

describe('RedisLockInstrumentation', () => {
  it('is an Instrumentation of OpenTelemetry', () => {
    const instrumentation: Instrumentation = new RedisLockInstrumentation({ enabled: false });
    expect(instrumentation).toMatchObject({ instrumentationName: 'nestjs-redis-lock' });
    expect(instrumentation.getConfig()).toEqual({ enabled: false });
    expect(isObserved()).toBe(false);
  });

  it('leaves no subscriber and no gauge when it is disabled, and can be enabled again', async () => {
    using telemetry = new Telemetry({ spans: 'all' });
    expect(isObserved()).toBe(true);
    telemetry.instrumentation.disable();
    expect(isObserved()).toBe(false);
    await useLock();
    expect([telemetry.spans, await telemetry.metrics()]).toEqual([[], []]);
    telemetry.instrumentation.enable();
    telemetry.instrumentation.enable();
    await useLock();
    expect(telemetry.spans.map(({ name }) => name)).toEqual(['lock wait *', 'lock hold *']);
    expect(await telemetry.points('redis_lock.hold_time')).toMatchObject([[{}, [0, 1]]]);
  });

  it('uses new options at once', async () => {
    using telemetry = new Telemetry();
    telemetry.instrumentation.setConfig({ spans: 'all', name: () => 'mine' });
    await useLock();
    expect(telemetry.spans.map(({ name }) => name)).toEqual(['lock wait mine', 'lock hold mine']);
    expect(await telemetry.points('redis_lock.hold_time')).toMatchObject([[{ 'redis_lock.name': 'mine' }, [0, 1]]]);
  });

  it('changes nothing for locks when the application has no SDK', async () => {
    const stop = instrument({ spans: 'all', linkProcesses: true });
    await expect(useLock()).resolves.toBeUndefined();
    stop();
    expect(isObserved()).toBe(false);
  });

  it('works with the global providers', async () => {
    using telemetry = new Telemetry();
    telemetry.instrumentation.disable();
    const stop = instrument({ spans: 'all' });
    await useLock();
    stop();
    expect(telemetry.spans).toHaveLength(2);
    expect(await telemetry.points('redis_lock.hold_time')).toHaveLength(1);
  });

  it('breaks no lock and ends no process when the SDK throws', async () => {
    const uncaught: unknown[] = [];
    const keep = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', keep);
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const broken = (): never => {
      throw new Error('broken SDK');
    };
    const gauge = { addCallback: () => undefined, removeCallback: () => undefined };
    const meter = {
      createHistogram: () => ({ record: broken }),
      createCounter: () => ({ add: broken }),
      createObservableGauge: () => gauge,
      createObservableUpDownCounter: () => gauge,
    } as unknown as Meter;
    const instrumentation = new RedisLockInstrumentation({ spans: 'all' });
    instrumentation.setMeterProvider({ getMeter: () => meter });
    instrumentation.setTracerProvider({ getTracer: () => ({ startSpan: broken, startActiveSpan: broken }) });
    await expect(useLock()).resolves.toBeUndefined();
    // What diagnostics_channel does with an error, it does in the next tick.
    await new Promise((resolve) => setImmediate(resolve));
    expect(uncaught).toEqual([]);
    instrumentation.disable();
    process.off('uncaughtException', keep);
    warn.mockRestore();
  });
});
