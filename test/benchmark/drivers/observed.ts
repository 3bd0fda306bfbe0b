import { metrics, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { instrument } from 'nestjs-redis-lock/otel';
import type { Driver } from './driver.js';
import { openModule } from './ours.js';

/** As the SDK is set up in production, but nothing leaves the process. */
function meter(): () => Promise<void> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  metrics.setGlobalMeterProvider(provider);
  return () => provider.shutdown();
}

function tracer(): () => Promise<void> {
  const exporter = new InMemorySpanExporter();
  // A batch is gone once it was exported.
  exporter.export = (_spans, done) => done({ code: 0 });
  const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  provider.register();
  return async () => {
    await provider.shutdown();
    trace.disable();
  };
}

function observed(
  name: string,
  settings: string,
  sdk: ReadonlyArray<() => () => Promise<void>>,
  spans: 'none' | 'all',
): Driver {
  return {
    ...{ name, settings, home: import.meta.url, kind: 'ours' },
    async open(url, { lease }) {
      const stops = sdk.map((start) => start());
      const end = instrument({ spans });
      const lockable = await openModule({ redis: url, lease });
      return {
        ...lockable,
        async close() {
          await lockable.close();
          end();
          for (const stop of stops) await stop();
        },
      };
    },
  };
}

export const withMetrics = observed('nestjs-redis-lock, metrics', 'instrument({ spans: "none" })', [meter], 'none');

export const withTraces = observed(
  'nestjs-redis-lock, metrics and traces',
  'instrument({ spans: "all" })',
  [meter, tracer],
  'all',
);
