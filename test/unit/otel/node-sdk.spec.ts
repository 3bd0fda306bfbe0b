import { afterAll, describe, expect, it } from '@jest/globals';
import { requestsAreObserved } from '../../../lib/core/observation.js';

const { env } = process;
afterAll(() => {
  process.env = env;
});

describe('the NodeSDK of the example', () => {
  it('observes locks, until their instrumentation is disabled', async () => {
    process.env = { ...env, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' };
    expect(requestsAreObserved()).toBe(false);
    const { locks, sdk } = await import('../../../examples/telemetry.js');
    expect(requestsAreObserved()).toBe(true);
    await sdk.shutdown();
    locks.disable();
    expect(requestsAreObserved()).toBe(false);
  });
});
