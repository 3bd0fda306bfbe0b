/** Loaded first by the processes of walk.mjs: writes each span to the file SPANS, one JSON per line. */
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { RedisLockInstrumentation } from 'nestjs-redis-lock/otel';

const { SPANS = '' } = process.env;
/** @type {import('@opentelemetry/sdk-trace-node').SpanExporter} */
const exporter = {
  export(spans, done) {
    for (const span of spans) {
      const { name, duration, links, parentSpanContext } = span;
      const { traceId, spanId } = span.spanContext();
      const ms = duration[0] * 1000 + duration[1] / 1e6;
      const linked = links.map(({ context }) => context.spanId);
      const line = { name, traceId, spanId, parent: parentSpanContext?.spanId, ms, linked, pid: process.pid };
      appendFileSync(SPANS, `${JSON.stringify(line)}\n`);
    }
    done({ code: 0 });
  },
  async shutdown() {},
};
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
registerInstrumentations({
  instrumentations: [new HttpInstrumentation(), new RedisLockInstrumentation({ linkProcesses: true })],
});
// It is patched when CommonJS loads it.
createRequire(import.meta.url)('node:http');
