import 'reflect-metadata';
import { once } from 'node:events';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheck, HealthCheckService, HealthIndicatorService, TerminusModule } from '@nestjs/terminus';
import { RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';

/** The health route of an application, on Terminus 11 and 12. */
@Controller('ready')
class Readiness {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.check('locks')]);
  }
}

@Module({
  imports: [TerminusModule, RedisLockModule.forRoot({ redis: process.env['REDIS_URL'] ?? '' })],
  controllers: [Readiness],
  providers: [LockHealthIndicator],
})
class AppModule {}

interface Health {
  readonly status: string;
  readonly details: { readonly locks: Record<string, unknown> };
}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  const read = async (): Promise<Health> => (await fetch(`${await app.getUrl()}/ready`)).json() as Promise<Health>;
  const expectEntry = async (overall: string, entry: Record<string, unknown>): Promise<void> => {
    const { status, details } = await read();
    const wrong = Object.entries(entry).filter(([name, value]) => String(details.locks[name]) !== String(value));
    if (status !== overall || wrong.length > 0) throw new Error(JSON.stringify({ status, details, overall, entry }));
  };

  await expectEntry('ok', { status: 'up', reasons: '', held: 0, degraded: undefined });
  const locks = app.get(RedisLockService);
  const name = `health:${process.pid}`;
  const lock = await locks.acquire(name);
  const lost = once(lock.signal, 'abort');
  await locks.forceRelease(name);
  await lost;
  const entry = { reasons: 'lock_lost', held: 0 };
  if ('degraded' in app.get(HealthIndicatorService).check('any'))
    await expectEntry('degraded', { ...entry, status: 'degraded', degraded: undefined });
  else await expectEntry('ok', { ...entry, status: 'up', degraded: true });
  await app.close();
  console.log('healthy, and impaired after a loss');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
