import { Module } from '@nestjs/common';
import { RedisLockModule } from 'nestjs-redis-lock';
import { ConfigModule, ConfigService } from './connections.js';
import { Imports } from './leases.js';

// #region inline
@Module({
  imports: [
    RedisLockModule.forRootAsync({
      imports: [ConfigModule],
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({ redis: config.getOrThrow('REDIS_URL') }),
    }),
  ],
  providers: [Imports],
})
export class AppModule {}
// #endregion
