import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLock, RedisLockModule } from 'nestjs-redis-lock';

/** The stack of an error that a locked method throws: it leads to the user's method, through functions of ours that have their names. */
@Injectable()
class Shop {
  @DistributedLock({ key: 'trace-check:#{id}', wait: 0 })
  async buy(id: string): Promise<void> {
    throw new Error(`${id} is sold out`);
  }
}

@Module({ imports: [RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' })], providers: [Shop] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const error = await app
    .get(Shop)
    .buy('1')
    .then(
      () => undefined,
      (reason: unknown) => reason as Error,
    );
  await app.close();
  const frames = error?.stack?.split('\n').slice(1) ?? [];
  // 'at runInFlow (…/library.js:1:2)', and of a function that has no name in the source either 'at …/library.js:1:2'.
  const names = frames.map(
    (frame) => /at (?:async )?([\w.]+) \(.*nestjs-redis-lock.dist.*library\.js:\d+:\d+\)/.exec(frame)?.[1],
  );
  const ours = names.filter((name) => name !== undefined);
  if (!/at Shop\.buy .*trace\.js:\d+/.test(frames[0] ?? '')) throw new Error(`not of the method: ${error?.stack}`);
  if (ours.length === 0 || ours.some((name) => name.length < 3)) throw new Error(`without names: ${error?.stack}`);
  console.log('traced to the method');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
