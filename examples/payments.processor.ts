import { Processor, WorkerHost } from '@nestjs/bullmq';
import type { OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bullmq';
import { currentLock, DistributedLock } from 'nestjs-redis-lock';

interface Payment {
  account: string;
}

// #region processor
@Processor('payments', { concurrency: 10 })
export class PaymentsProcessor extends WorkerHost implements OnModuleDestroy {
  @DistributedLock('account:#{job.data.account}')
  override async process(job: Job<Payment>): Promise<string> {
    return `${job.data.account} under ${currentLock()!.key}`;
  }

  // At shutdown no new locks are granted, but Nest closes workers last. Close the worker first, or it takes and fails every waiting job.
  async onModuleDestroy(): Promise<void> {
    await this.worker.close();
  }
}
// #endregion
