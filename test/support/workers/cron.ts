/**
 * A process of a fleet in which every one starts the same job every second, each by a clock of its own: `CLOCK` ms ahead. Tells of
 * every start `{ period, ran, late }`: the second it was for, whether the job ran here, and by how many ms the answer came after it.
 */
import 'reflect-metadata';

const ahead = Number(process.env['CLOCK']);
const RealDate = Date;
// Before anything is loaded that reads the clock.
globalThis.Date = class extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + ahead] : given) as []));
  }
  static override now(): number {
    return RealDate.now() + ahead;
  }
} as DateConstructor;

const { Injectable, Module } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { Cron, ScheduleModule } = await import('@nestjs/schedule');
const { DistributedLock, RedisLockModule } = await import('nestjs-redis-lock');

function tell(ran: boolean): void {
  const now = Date.now();
  process.send?.({ period: Math.floor(now / 1000), ran, late: now % 1000 });
}

@Injectable()
class Reports {
  // #region report
  @Cron('* * * * * *')
  @DistributedLock({ key: 'report', wait: 0, minHold: '600ms', onContended: () => tell(false) })
  async report(): Promise<void> {
    tell(true);
  }
  // #endregion
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    RedisLockModule.forRoot({ redis: process.env['REDIS_URL']!, keyPrefix: process.env['KEY_PREFIX']! }),
  ],
  providers: [Reports],
})
class Fleet {}

await NestFactory.createApplicationContext(Fleet, { logger: ['error'] });
