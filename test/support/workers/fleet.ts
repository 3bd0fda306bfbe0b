/**
 * A process of a fleet that calls a gateway with ten places, and reads and writes a document. Told `{ calls }`, it makes so many of both at
 * once, and answers `{ most, meetings }`: the most calls that were in flight in the whole fleet, as far as it saw, and how often a reader and
 * a writer, or two writers, met.
 */
import 'reflect-metadata';
import { setImmediate as turn } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DistributedLock, RedisLockModule } from 'nestjs-redis-lock';

const [url, prefix] = [process.env['REDIS_URL']!, process.env['KEY_PREFIX']!];
const redis = new Redis(url);
let [most, meetings] = [0, 0];

@Injectable()
class Places {
  @DistributedLock({ key: 'gateway', limit: 10, wait: '1m' })
  async call(): Promise<void> {
    most = Math.max(most, await redis.incr(`${prefix}in-flight`));
    await turn();
    await redis.decr(`${prefix}in-flight`);
  }

  @DistributedLock({ key: 'document:#{id}', shared: true, wait: '1m' })
  async read(id: string): Promise<void> {
    const [[, readers], [, writers]] = (await redis
      .multi()
      .incr(`${prefix}${id}:readers`)
      .get(`${prefix}${id}:writers`)
      .exec()) as [[null, number], [null, string | null]];
    if (readers === 0 || Number(writers) > 0) meetings++;
    await turn();
    await redis.decr(`${prefix}${id}:readers`);
  }

  @DistributedLock({ key: 'document:#{id}', wait: '1m' })
  async write(id: string): Promise<void> {
    const [[, writers], [, readers]] = (await redis
      .multi()
      .incr(`${prefix}${id}:writers`)
      .get(`${prefix}${id}:readers`)
      .exec()) as [[null, number], [null, string | null]];
    if (writers !== 1 || Number(readers) > 0) meetings++;
    await turn();
    await redis.decr(`${prefix}${id}:writers`);
  }
}

@Module({ imports: [RedisLockModule.forRoot({ redis: url, keyPrefix: prefix })], providers: [Places] })
class Fleet {}

const app = await NestFactory.createApplicationContext(Fleet, { logger: ['error'] });
const places = app.get(Places);

process.on('message', ({ calls }: { calls: number }) => {
  const work = Array.from({ length: calls }, (_, index) => [
    places.call(),
    index % 5 === 0 ? places.write('42') : places.read('42'),
  ]);
  Promise.all(work.flat()).then(
    () => process.send?.({ most, meetings }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.send?.('ready');
