import { context, metrics, trace } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { RedisLockInstrumentation, type RedisLockInstrumentationConfig } from 'nestjs-redis-lock/otel';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** A measurement: of a histogram the sum and the count. */
export type Point = [attributes: Record<string, unknown>, value: unknown];

/** The real SDK with our instrumentation, as an application sets them up, and what it exports. */
export class Telemetry implements Disposable {
  readonly instrumentation: RedisLockInstrumentation;
  private readonly exported = new InMemorySpanExporter();
  private readonly reader = new Reader();
  private readonly meters = new MeterProvider({ readers: [this.reader] });
  private readonly tracers: NodeTracerProvider;

  constructor(
    config: RedisLockInstrumentationConfig = {},
    { sampler = new AlwaysOnSampler() }: { sampler?: Sampler } = {},
  ) {
    this.tracers = new NodeTracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor(this.exported)] });
    this.tracers.register();
    metrics.setGlobalMeterProvider(this.meters);
    this.instrumentation = new RedisLockInstrumentation(config);
    const { meters: meterProvider, instrumentation } = this;
    registerInstrumentations({ instrumentations: [instrumentation], tracerProvider: this.tracers, meterProvider });
  }

  /** Spans that have ended, in this order. */
  get spans(): ReadableSpan[] {
    return this.exported.getFinishedSpans();
  }

  span(name: string): ReadableSpan {
    const found = this.spans.filter((span) => span.name === name);
    if (found.length !== 1) throw new Error(`${found.length} of ${this.spans.map((span) => span.name).join(', ')}`);
    return found[0]!;
  }

  /** Runs as a request does: in a span of its own. */
  async request<T>(name: string, work: () => Promise<T>): Promise<T> {
    return trace.getTracer('test').startActiveSpan(name, async (span) => {
      try {
        return await work();
      } finally {
        span.end();
      }
    });
  }

  async metrics(): Promise<MetricData[]> {
    const { resourceMetrics, errors } = await this.reader.collect();
    if (errors.length > 0) throw errors[0];
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  }

  /** What an instrument has measured. */
  async points(name: string): Promise<Point[]> {
    const metric = (await this.metrics()).find(({ descriptor }) => descriptor.name === name);
    return (metric?.dataPoints ?? []).map(({ attributes, value }) => [
      attributes,
      typeof value === 'number' ? value : [value.sum, value.count],
    ]);
  }

  [Symbol.dispose](): void {
    this.instrumentation.disable();
    metrics.disable();
    trace.disable();
    context.disable();
  }
}
