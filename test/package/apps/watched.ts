import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DistributedLock, RedisLockModule } from 'nestjs-redis-lock';

/** Started by `nest start --watch`. Each edition of this file is one process. */
const edition = Number(1);
const { REDIS_URL = '', PORT = '' } = process.env;
const redis = new Redis(REDIS_URL);
const listening = `watched:${PORT}:listening`;

@Controller()
class Office {
  onApplicationShutdown(): void {
    redis.disconnect();
  }

  @Get('sell')
  @DistributedLock('office')
  async sell(): Promise<string> {
    console.log(`edition ${edition} sells`);
    // The first one sells until the second one listens.
    while (edition === 1 && !(await redis.get(listening))) await new Promise((resolve) => setTimeout(resolve, 50));
    return `sold by edition ${edition}`;
  }
}

@Module({
  // A busy machine may need longer than the default to start the next process.
  imports: [RedisLockModule.forRoot({ redis: REDIS_URL, keyPrefix: `watched:${PORT}:`, shutdownTimeout: '60s' })],
  controllers: [Office],
})
class Application {}

async function main(): Promise<void> {
  const app = await NestFactory.create(Application, { logger: ['error'] });
  app.enableShutdownHooks();
  await app.listen(PORT, '127.0.0.1');
  if (edition !== 1) await redis.set(listening, 'yes', 'EX', 60);
  console.log(`edition ${edition} listens`);
}

void main();
