import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed, MemoryLockBackend, RedisLockTestingModule } from 'nestjs-redis-lock/testing';

/** What a user's test does, without Redis: both entry points must meet the same classes and the same flows. */
@Injectable()
class Shop {
  @DistributedLock({ key: 'product:#{id}', wait: '2s' })
  async buy(id: string): Promise<string> {
    return `${currentLock()?.key} ${id}`;
  }
}

@Module({ imports: [RedisLockTestingModule.forRoot()], providers: [Shop] })
class TestedModule {}

@Module({ imports: [RedisLockModule.forRoot({ backend: new MemoryLockBackend() })], providers: [Shop] })
class MemoryModule {}

async function main(): Promise<void> {
  const tested = await NestFactory.createApplicationContext(TestedModule, { logger: ['error', 'warn'] });
  const bed = tested.get(LockTestBed);
  const inside = await tested.get(RedisLockService).using('product:1', () => tested.get(Shop).buy('1'));
  if (inside !== 'product:1 1') throw new Error(inside);
  await bed.otherProcess().acquire('product:1');
  const code: unknown = await bed.until(tested.get(Shop).buy('1')).catch((error: { code: unknown }) => error.code);
  if (code !== 'LOCK_WAIT_TIMEOUT') throw new Error(String(code));
  await tested.close();

  const onMemory = await NestFactory.createApplicationContext(MemoryModule, { logger: ['error', 'warn'] });
  if ((await onMemory.get(Shop).buy('2')) !== 'product:2 2') throw new Error('not locked in memory');
  await onMemory.close();
  console.log('tested without Redis');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
