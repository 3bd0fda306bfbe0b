import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Leader, type Leadership } from 'nestjs-redis-lock';
import { LessThanOrEqual, Repository } from 'typeorm';
import { OrdersService } from '../orders/orders.service.js';
import { Report } from './report.entity.js';

/** Injection token: milliseconds between two reports. */
export const REPORT_MS = 'REPORT_MS';
const id = 'sales';

/** A report that one process of the fleet makes, for all. */
@Injectable()
export class ReportsService {
  private readonly logger = new Logger(ReportsService.name);

  constructor(
    @InjectRepository(Report) private readonly reports: Repository<Report>,
    private readonly orders: OrdersService,
    @Inject(REPORT_MS) private readonly period: number,
  ) {}

  // #region lead
  @Leader('sales-report')
  async lead({ signal, epoch }: Leadership): Promise<void> {
    while (!signal.aborted) {
      const written = await this.write({ orders: await this.orders.countAll(), pid: process.pid, epoch });
      if (!written) this.logger.warn(`epoch ${epoch} is over: another process leads`);
      await pause(this.period, undefined, { signal }).catch(() => undefined);
    }
  }
  // #endregion

  latest(): Promise<Report | null> {
    return this.reports.findOneBy({ id });
  }

  /** UPDATE ticket_sale_reports SET … WHERE id = 'sales' AND epoch <= :epoch */
  private async write({ epoch, ...report }: Pick<Report, 'orders' | 'pid' | 'epoch'>): Promise<boolean> {
    await this.reports
      .createQueryBuilder()
      .insert()
      .values({ id, orders: 0, made: 0, pid: 0, epoch: 0 })
      .orIgnore()
      .execute();
    const change = { ...report, epoch, made: () => 'made + 1' };
    const { affected } = await this.reports.update({ id, epoch: LessThanOrEqual(epoch) }, change);
    return affected === 1;
  }
}
