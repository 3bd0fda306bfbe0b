import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  currentLock,
  DistributedLock,
  type Duration,
  RedisLockModule,
  type RedisLockModuleOptions,
  RedisLockService,
} from 'nestjs-redis-lock';

/** What a user writes first. Compiled as ESM and as CommonJS, run on Nest 11 and on Nest 12, against a real Redis. */
@Injectable()
class Shop {
  @DistributedLock({ key: 'package-check:#{id}', lease: '5s', wait: '2s' })
  async buy(id: string): Promise<{ id: string; token: number; isHeld: boolean }> {
    const lock = currentLock();
    if (lock === undefined) throw new Error('the method runs without its lock');
    return { id, token: lock.fencingToken, isHeld: lock.isHeld };
  }
}

@Module({ imports: [RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' })], providers: [Shop] })
class AppModule {}

/** Durations are checked by the user's compiler too: where the types of `ms` are not installed, anything would do. */
export const durations: { wait: Duration; lease: Duration } = {
  wait: '2 minutes',
  // @ts-expect-error no unit of time
  lease: '5 parsecs',
};

/** What the code says that is loaded on demand: this server is no cluster, and no majority of three servers. */
async function refusalOf(options: RedisLockModuleOptions): Promise<string> {
  @Module({ imports: [RedisLockModule.forRoot(options)] })
  class Elsewhere {}

  try {
    const app = await NestFactory.createApplicationContext(Elsewhere, { logger: false, abortOnError: false });
    try {
      await app.get(RedisLockService).acquire('package-check:3', { wait: 0 });
    } finally {
      await app.close();
    }
  } catch (error) {
    return String(error);
  }
  return 'no refusal';
}

async function checkTopologies(redis: string): Promise<void> {
  const { hostname: host, port } = new URL(redis);
  const cluster = await refusalOf({ cluster: { nodes: [{ host, port: Number(port) }] } });
  if (!/does not run as a cluster/.test(cluster)) throw new Error(cluster);
  const quorum = await refusalOf({ quorum: { nodes: [redis, 'redis://127.0.0.1:1', 'redis://127.0.0.1:2'] } });
  if (!/1 of 3 nodes answered/.test(quorum)) throw new Error(quorum);
}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const first = await app.get(Shop).buy('1');
  const second = await app.get(Shop).buy('1');
  if (!first.isHeld || second.token <= first.token) throw new Error(JSON.stringify({ first, second }));
  await app.get(RedisLockService).using('package-check:2', (lock) => lock.assertHeld());
  await app.close();
  await checkTopologies(process.env['REDIS_URL'] ?? '');
  console.log('locked and released');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
