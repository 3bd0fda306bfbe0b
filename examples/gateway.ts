import { Injectable } from '@nestjs/common';
import { DistributedLock, RedisLockService } from 'nestjs-redis-lock';

@Injectable()
export class Gateway {
  inUse = 0;
  most = 0;

  constructor(private readonly locks: RedisLockService) {}

  // #region permits
  @DistributedLock({ key: 'gateway', limit: 10, wait: '5s' })
  async call(work: () => Promise<void>): Promise<void> {
    await this.count(1, work);
  }

  // A big one takes three of the ten.
  async callInBulk(work: () => Promise<void>): Promise<void> {
    await using _permits = await this.locks.acquire('gateway', { limit: 10, permits: 3 });
    await this.count(3, work);
  }
  // #endregion

  // #region rate
  @DistributedLock({ key: 'gateway:rate', limit: 5, minHold: '1s', wait: '30s' })
  async callInTurn(work: () => Promise<void>): Promise<void> {
    await work();
  }
  // #endregion

  private async count(permits: number, work: () => Promise<void>): Promise<void> {
    this.most = Math.max(this.most, (this.inUse += permits));
    await work();
    this.inUse -= permits;
  }
}
