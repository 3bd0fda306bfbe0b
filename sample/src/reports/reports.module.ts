import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OrdersModule } from '../orders/orders.module.js';
import type { Settings } from '../settings.js';
import { Report } from './report.entity.js';
import { ReportsController } from './reports.controller.js';
import { REPORT_MS, ReportsService } from './reports.service.js';

@Module({})
export class ReportsModule {
  static forRoot({ reportMs }: Pick<Settings, 'reportMs'>): DynamicModule {
    return {
      module: ReportsModule,
      imports: [TypeOrmModule.forFeature([Report]), OrdersModule],
      controllers: [ReportsController],
      providers: [ReportsService, { provide: REPORT_MS, useValue: reportMs }],
    };
  }
}
