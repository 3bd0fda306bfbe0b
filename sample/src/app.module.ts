import { type DynamicModule, Module, ValidationPipe } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { RedisLockModule } from 'nestjs-redis-lock';
import { lockConsole } from './console.module.js';
import { databaseOptions } from './database.js';
import { EventsModule } from './events/events.module.js';
import { HealthModule } from './health.module.js';
import { MetricsController } from './metrics.controller.js';
import { ReportsModule } from './reports/reports.module.js';
import type { Settings } from './settings.js';
import { TicketsModule } from './tickets/tickets.module.js';

@Module({})
export class AppModule {
  static forRoot(settings: Settings): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot(databaseOptions(settings)),
        RedisLockModule.forRoot({
          redis: settings.redisUrl,
          lease: settings.leaseMs,
          // With the tokens of Redisson's RFencedLock the rows refuse late writes of both sides.
          redisson: settings.lockFormat === 'redisson' && { tokens: 'fenced' },
        }),
        EventsModule,
        TicketsModule.forRoot(settings),
        ReportsModule.forRoot(settings),
        HealthModule,
        ...(settings.opsPassword === undefined ? [] : [lockConsole(settings.opsPassword)]),
      ],
      controllers: [MetricsController],
      // `transform` also makes a request without a body an empty DTO.
      providers: [
        {
          provide: APP_PIPE,
          useValue: new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }),
        },
      ],
    };
  }
}
