import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

const url = process.env['REDIS_URL'] ?? '';
const turns = 10;
const [name, counter, journal, arrived] = ['lock', 'counter', 'journal', 'arrived'].map(
  (key) => `neighbours:${key}`,
) as [string, string, string, string];

@Module({ imports: [RedisLockModule.forRoot({ redis: url })] })
class AppModule {}

/** Runs at the same time in the applications of both lines: each adds to one counter, reading first and writing later, and hands the lock to the other. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const locks = app.get(RedisLockService);
  const redis = new Redis(url);
  await redis.incr(arrived);
  for (let turn = 0; turn < turns; turn++) {
    await locks.using(name, { wait: '20s' }, async ({ fencingToken }) => {
      const value = Number(await redis.get(counter));
      // Until the other one is in the queue, so that the release hands the lock to it; at its last turn no other one comes.
      const isLast = value === 2 * turns - 1;
      while (!isLast && (await locks.inspect(name)).waiters.length === 0) await pause(2);
      await redis.set(counter, value + 1);
      // Last, since both read the counter as soon as the journal is full.
      await redis.rpush(journal, `${fencingToken} ${process.pid}`);
    });
  }
  while ((await redis.llen(journal)) < 2 * turns) await pause(2);
  const entries = (await redis.lrange(journal, 0, -1)).map((entry) => entry.split(' ') as [string, string]);
  const value = Number(await redis.get(counter));
  const rising = entries.every(([token], index) => index === 0 || Number(token) > Number(entries[index - 1][0]));
  const inTurn = entries.every(([, pid], index) => index === 0 || pid !== entries[index - 1][1]);
  if (value !== 2 * turns || !rising || !inTurn) throw new Error(JSON.stringify({ value, entries }));
  // The last one tidies up.
  if ((await redis.decr(arrived)) === 0) await redis.del(counter, journal, arrived);
  redis.disconnect();
  await app.close();
  console.log('shared with the neighbour');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
