/**
 * Two applications of one process, each with a worker. Takes a lock in each, blocks the event loop until FILE is there, tells what it sees
 * before its first await, and closes both: nothing may keep the process.
 */
import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';

const { REDIS_URL, NAME, FILE } = process.env;
const redis = REDIS_URL!;

function blockUntilThere(file: string): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(file)) Atomics.wait(sleeper, 0, 0, 5);
}

/** Only this method asks for the worker. */
@Injectable()
class Reports {
  @DistributedLock({ key: `${NAME}:1`, lease: '2s', renew: true, renewFrom: 'worker' })
  async build(inside: () => Promise<void>): Promise<boolean> {
    const lock = currentLock()!;
    await inside();
    return lock.isHeld;
  }
}

@Module({ imports: [RedisLockModule.forRoot({ redis, activity: false })], providers: [Reports] })
class First {}

@Module({ imports: [RedisLockModule.forRoot({ redis, renewFrom: 'worker', lease: '2s', activity: false })] })
class Second {}

const options = { logger: ['error', 'warn'] as Array<'error' | 'warn'> };
const first = await NestFactory.createApplicationContext(First, options);
const second = await NestFactory.createApplicationContext(Second, options);
const lock = await second.get(RedisLockService).acquire(String(`${NAME}:2`));
let other = false;
const own = await first.get(Reports).build(async () => {
  process.send?.('blocked');
  blockUntilThere(FILE!);
  other = lock.isHeld;
});
await lock.release();
await first.close();
await second.close();
process.send?.({ held: [own, other] });
process.channel?.unref();
