/**
 * An application with locks. `HOOKS` says how it learns of SIGTERM, `SERVES` what it is. Tells what the doctor said of its
 * shutdown, later than the doctor looks.
 */
import 'reflect-metadata';
import { ConsoleLogger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { RedisLockModule } from 'nestjs-redis-lock';

const { HOOKS, SERVES, REDIS_URL } = process.env;
const redis = { redis: REDIS_URL! };

@Module({ imports: [RedisLockModule.forRoot(redis), RedisLockModule.forRoot({ ...redis, name: 'billing' })] })
class Application {}

const said: string[] = [];
class KeptLogger extends ConsoleLogger {
  override warn(message: string): void {
    if (message.includes('SIGTERM')) said.push(message);
  }
}

if (SERVES === 'nothing') {
  await NestFactory.createApplicationContext(Application, { logger: new KeptLogger() });
} else {
  const app =
    SERVES === 'a test'
      ? (
          await Test.createTestingModule({ imports: [Application] })
            .setLogger(new KeptLogger())
            .compile()
        ).createNestApplication()
      : await NestFactory.create(Application, { logger: new KeptLogger() });
  if (HOOKS === 'nest') app.enableShutdownHooks();
  if (HOOKS === 'own') process.once('SIGTERM', () => void app.close());
  await app.listen(0, '127.0.0.1');
  if (HOOKS === 'late') app.enableShutdownHooks();
  if (HOOKS === 'closed') await app.close();
}
setTimeout(() => process.send?.({ said }), 1500);
