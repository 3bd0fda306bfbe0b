/**
 * A shop whose requests, commands and locks are traced. The first `/buy/:id` works until another caller waits and its own lease was renewed.
 * `{ end: true }` ends it, with all spans.
 */
import 'reflect-metadata';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { RedisLockInstrumentation } from 'nestjs-redis-lock/otel';

const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation(),
    // Commands without a parent are shown, too.
    new IORedisInstrumentation({ requireParentSpan: false }),
    new RedisLockInstrumentation({ linkProcesses: process.env['LINK_PROCESSES'] === 'true' }),
  ],
});
// They are patched when CommonJS loads them. What the instrumentation of locks imported has not loaded them before.
const require = createRequire(import.meta.url);
require('node:http');
require('ioredis');

const { Controller, Get, Injectable, Module, Param } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { Redis } = await import('ioredis');
const { DistributedLock, RedisLockModule } = await import('nestjs-redis-lock');

const { REDIS_URL = '', KEY_PREFIX = '' } = process.env;
const database = new Redis(REDIS_URL);
const published = (channel: string): Promise<void> => new Promise((resolve) => subscribe(channel, () => resolve()));
const renewed = published('nestjs-redis-lock:renewed');
const goOn = process.env['WAITS_HERE'] === 'true' ? published('nestjs-redis-lock:contended') : once(process, 'message');
subscribe('nestjs-redis-lock:contended', () => process.send?.({ contended: true }));

@Injectable()
class Shop {
  private isFirst = process.env['HOLDS'] === 'true';

  @DistributedLock({ key: 'product:#{id}', lease: '3s', renew: true })
  async buy(id: string): Promise<string | null> {
    if (this.isFirst) {
      this.isFirst = false;
      process.send?.({ holds: true });
      await Promise.all([renewed, goOn]);
    }
    return database.get(`${KEY_PREFIX}stock:${id}`);
  }
}

@Controller()
class Requests {
  constructor(private readonly shop: Shop) {}

  @Get('buy/:id')
  async buy(@Param('id') id: string): Promise<string> {
    return `${await this.shop.buy(id)}`;
  }
}

@Module({
  imports: [RedisLockModule.forRoot({ redis: REDIS_URL, keyPrefix: KEY_PREFIX })],
  controllers: [Requests],
  providers: [Shop],
})
class Application {}

const app = await NestFactory.create(Application, { logger: ['error'] });
await app.listen(0, '127.0.0.1');
process.send?.({ port: (app.getHttpServer().address() as AddressInfo).port });
process.on('message', (message: { end?: boolean }) => {
  if (!message.end) return;
  const spans = exporter.getFinishedSpans().map((span) => ({
    name: span.name,
    ...span.spanContext(),
    parent: span.parentSpanContext?.spanId,
    links: span.links.map((link) => link.context),
    attributes: span.attributes,
  }));
  process.send?.({ spans });
});
