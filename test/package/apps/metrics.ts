import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { registerLockMetrics } from 'nestjs-redis-lock/prometheus';
import { register, Registry } from 'prom-client';

@Module({ imports: [RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' })] })
class AppModule {}

/** Metrics in the global registry of prom-client, and in one of the application's own. */
async function main(): Promise<void> {
  const own = new Registry();
  const ends = [registerLockMetrics(), registerLockMetrics({ registry: own, name: (key) => key.split(':')[0] })];
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  await app.get(RedisLockService).using(lockName`metrics:${process.pid}`, () => undefined);
  const texts = await Promise.all([register.metrics(), own.metrics()]);
  const labels = ['metrics:*', 'metrics'].map((name) => `redis_lock_name="${name}",redis_lock_connection="default"`);
  texts.forEach((text, index) => {
    if (!text.includes(`redis_lock_hold_time_seconds_count{${labels[index]}`)) throw new Error(text);
  });
  for (const end of ends) end();
  await app.close();
  console.log('measured');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
