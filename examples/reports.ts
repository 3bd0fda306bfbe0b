import { Injectable } from '@nestjs/common';
import { DistributedLock, type LockNotAcquiredError } from 'nestjs-redis-lock';

export interface Report {
  readonly id: string;
  readonly pages: number;
}

@Injectable()
export class ReportStore {
  readonly reports = new Map<string, Report>();

  // #region shared
  @DistributedLock({ key: 'report:#{id}', shared: true })
  async read(id: string): Promise<Report | undefined> {
    return this.reports.get(id);
  }

  @DistributedLock('report:#{report.id}')
  async write(report: Report): Promise<void> {
    this.reports.set(report.id, report);
  }
  // #endregion
}

@Injectable()
export class ReportService {
  warmed = 0;

  // #region skip
  // Another call does it already.
  @DistributedLock({ key: 'cache:warm', onContended: 'skip' })
  async warm(): Promise<void> {
    this.warmed++;
  }
  // #endregion

  // #region instead
  // Return something else. `this` is the service, and the types are those of the method.
  @DistributedLock({
    key: 'report:#{id}',
    wait: '1s',
    onContended(this: ReportService, _error: LockNotAcquiredError, id: string) {
      return this.lastReport(id);
    },
  })
  async report(id: string): Promise<Report> {
    return { id, pages: 12 };
  }
  // #endregion

  private lastReport(id: string): Report {
    return { id, pages: 11 };
  }
}
