import { Controller, Get } from '@nestjs/common';
import { RedisLockService } from 'nestjs-redis-lock';
import { ReportsService } from './reports.service.js';

@Controller('reports')
export class ReportsController {
  constructor(
    private readonly reports: ReportsService,
    private readonly locks: RedisLockService,
  ) {}

  /** The latest report of the fleet, and whether this process makes it. */
  @Get('sales')
  async sales(): Promise<object> {
    const { isLeader } = this.locks.election('sales-report');
    return { latest: await this.reports.latest(), isLeader, here: process.pid };
  }
}
