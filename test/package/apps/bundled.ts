import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { currentLock, DistributedLock, lockName, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

/**
 * What a bundler gets. Minified code has lost the names of parameters, not their positions: KEY chooses. The classes are made inside, so that an
 * error is printed without the line of code that threw it, which is the whole bundle.
 */
async function main(): Promise<void> {
  @Injectable()
  class Shop {
    @DistributedLock({ key: process.env['KEY'] ?? 'bundle-check:#{id}', wait: 0 })
    async buy(id: string, inside: (key: string | undefined) => Promise<unknown>): Promise<unknown> {
      return inside(currentLock()?.key);
    }
  }
  @Module({ imports: [RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' })], providers: [Shop] })
  class AppModule {}

  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const customer = String(process.pid);
  const holders = await app
    .get(Shop)
    .buy(customer, async (key = '') => (await app.get(RedisLockService).inspect(key)).holders);
  // The file of the worker is there, or the error says what to do.
  const worker = await app
    .get(RedisLockService)
    .using(lockName`worker:${customer}`, { renewFrom: 'worker' }, async ({ isHeld }) => isHeld)
    .catch((error: Error) => /mark nestjs-redis-lock as external/.test(error.message) && 'no file');
  await app.close();
  const expected = process.env['WORKER'] ?? 'true';
  if (String(worker) !== expected) throw new Error(`the worker: ${String(worker)}, not ${expected}`);
  if (!Array.isArray(holders) || holders.length !== 1) throw new Error(`not locked: ${JSON.stringify(holders)}`);
  console.log('locked in a bundle');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
