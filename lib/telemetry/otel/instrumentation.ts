import { type MeterProvider, metrics, trace, type TracerProvider } from '@opentelemetry/api';
import type { RedisLockInstrumentationConfig } from './config.js';
import { LockSpans } from './lock-spans.js';
import { measure } from './measure.js';
import { version } from './version.js';

const name = 'nestjs-redis-lock';

/**
 * Spans and metrics of all locks in the process, from the diagnostics channels of this package. Give it to the NodeSDK
 * (`instrumentations: [new RedisLockInstrumentation()]`) or to `registerInstrumentations`. Loads no other module of this package.
 */
export class RedisLockInstrumentation {
  readonly instrumentationName = name;
  readonly instrumentationVersion: string = version;
  /** Replaced when the SDK starts. A tracer of the global provider can be made before. */
  private tracer = trace.getTracer(name, version);
  private meters: MeterProvider | undefined;
  private config: RedisLockInstrumentationConfig & { enabled: boolean };
  private stops: { readonly spans: () => void; metrics: () => void } | undefined;

  constructor(config: RedisLockInstrumentationConfig = {}) {
    this.config = { enabled: true, ...config };
    if (this.config.enabled) this.enable();
  }

  /** Begins to subscribe. */
  enable(): void {
    this.stops ??= {
      spans: new LockSpans(this.config, () => this.tracer).start(),
      metrics: this.measure(),
    };
  }

  /** Ends all subscriptions. A span of a hold that lasts is not ended any more. */
  disable(): void {
    this.stops?.spans();
    this.stops?.metrics();
    this.stops = undefined;
  }

  setTracerProvider(provider: TracerProvider): void {
    this.tracer = provider.getTracer(name, version);
  }

  setMeterProvider(provider: MeterProvider): void {
    this.meters = provider;
    if (!this.stops) return;
    this.stops.metrics();
    this.stops.metrics = this.measure();
  }

  getConfig(): RedisLockInstrumentationConfig & { enabled: boolean } {
    return this.config;
  }

  setConfig(config: RedisLockInstrumentationConfig): void {
    this.config = { enabled: true, ...config };
    if (!this.stops) return;
    this.disable();
    this.enable();
  }

  private measure(): () => void {
    return measure((this.meters ?? metrics).getMeter(name, version), this.config);
  }
}

/**
 * The same for an application that sets up its SDK by hand: call it when the global providers are set.
 * @returns a function that ends it
 */
export function instrument(config: RedisLockInstrumentationConfig = {}): () => void {
  const instrumentation = new RedisLockInstrumentation(config);
  instrumentation.enable();
  return () => {
    instrumentation.disable();
  };
}
