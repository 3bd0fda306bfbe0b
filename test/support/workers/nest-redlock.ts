/**
 * An application with @anchan828/nest-redlock beside this library, in a process of its own: jest cannot load CommonJS that needs Nest 12.
 * `{ run, version, id }` calls a method of Accounts, which says `{ begun: run }`, works until `{ leave: run }`, and ends with `{ done: run }`
 * or `{ done: run, error }`. `{ answered: true }` is an answer of Redis to the old library.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DistributedLock, RedisLockModule } from 'nestjs-redis-lock';

/** What this file needs of @anchan828/nest-redlock. */
interface NestRedlock {
  Redlock(key: (service: unknown, id: string) => string, duration?: number): MethodDecorator;
  RedlockModule: { register(options: { clients: Redis[]; isGlobal?: boolean }): DynamicModule };
}

// Node cannot load what it publishes as ES modules: imports without file names.
const { Redlock, RedlockModule } = createRequire(import.meta.url)('@anchan828/nest-redlock') as NestRedlock;
const { redis, keyPrefix } = JSON.parse(process.env['LOCKS'] ?? '{}') as Record<'redis' | 'keyPrefix', string>;

class AnsweringRedis extends Redis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const answer = super.sendCommand(...args) as Promise<unknown>;
    const tell = (): void => void process.send?.({ answered: true });
    answer.then(tell, tell);
    return answer;
  }
}

type Work = () => Promise<void>;

@Injectable()
class Accounts {
  // #region before
  @Redlock((_service, id) => `account:${id}`, 5000)
  async before(_id: string, work: Work): Promise<void> {
    await work();
  }
  // #endregion

  // #region both
  // Deploy A: both locks.
  @DistributedLock({ key: 'account:#{id}', wait: '3s' })
  @Redlock((_service, id) => `account:${id}`, 5000)
  async both(id: string, work: Work): Promise<void> {
    await work();
  }
  // #endregion

  // #region after
  // Deploy B: the new one alone.
  @DistributedLock({ key: 'account:#{id}', wait: '3s' })
  async after(id: string, work: Work): Promise<void> {
    await work();
  }
  // #endregion
}

@Module({
  imports: [
    RedlockModule.register({ clients: [new AnsweringRedis(redis)], isGlobal: true }),
    RedisLockModule.forRoot({ redis, keyPrefix }),
  ],
  providers: [Accounts],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
const leaving = new Map<number, () => void>();

interface Message {
  run?: number;
  leave?: number;
  version: 'before' | 'both' | 'after';
  id: string;
}

process.on('message', ({ run, leave, version, id }: Message) => {
  if (leave !== undefined) leaving.get(leave)?.();
  if (run === undefined) return;
  const works = app.get(Accounts)[version](id, async () => {
    const left = new Promise<void>((resolve) => leaving.set(run, resolve));
    process.send?.({ begun: run });
    await left;
  });
  works.then(
    () => process.send?.({ done: run }),
    (error: Error) => process.send?.({ done: run, error: error.message }),
  );
});
process.send?.({ ready: true });
