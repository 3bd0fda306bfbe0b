import { Injectable, Module } from '@nestjs/common';
import {
  currentLock,
  DistributedLock,
  InjectRedisLock,
  lockName,
  RedisLockModule,
  RedisLockService,
} from 'nestjs-redis-lock';

/** Stands for the ConfigService of @nestjs/config. */
@Injectable()
export class ConfigService {
  getOrThrow(name: string): string {
    const value = process.env[name];
    if (value === undefined) throw new Error(`${name} is not set`);
    return value;
  }
}

@Module({ providers: [ConfigService], exports: [ConfigService] })
export class ConfigModule {}

@Injectable()
export class Invoices {
  // #region use
  constructor(@InjectRedisLock('billing') private readonly locks: RedisLockService) {}

  @DistributedLock({ key: 'invoice:#{id}', connection: 'billing' })
  async send(id: string): Promise<string> {
    return `${id} under ${currentLock()!.key}`;
  }
  // #endregion

  async isFree(id: string): Promise<boolean> {
    await using lock = await this.locks.tryAcquire(lockName`invoice:${id}`);
    return lock !== null;
  }
}

// #region two
@Module({
  imports: [
    RedisLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    // With a factory `name` and `isGlobal` stand beside it, not in what it returns.
    RedisLockModule.forRootAsync({
      name: 'billing',
      imports: [ConfigModule],
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({ redis: config.getOrThrow('BILLING_REDIS_URL'), keyPrefix: 'billing:' }),
    }),
  ],
  providers: [Invoices],
})
export class AppModule {}
// #endregion
