import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock, lockName, RedisLockService } from 'nestjs-redis-lock';

export interface Account {
  id: string;
  balance: number;
}

@Injectable()
export class Accounts {
  constructor(private readonly locks: RedisLockService) {}

  // #region decorator
  @DistributedLock({ key: ['account:#{from.id}', 'account:#{to.id}'] })
  async transfer(from: Account, to: Account, amount: number): Promise<void> {
    from.balance -= amount;
    to.balance += amount;
  }

  @DistributedLock({ key: (ids: string[]) => ids.map((id) => lockName`account:${id}`) }) // any number of accounts
  async close(ids: string[]): Promise<string> {
    return `closed ${ids.length} under ${currentLock()!.keys.join(', ')}`;
  }
  // #endregion

  // #region service
  async audit(): Promise<number> {
    await using lock = await this.locks.acquire(['account:7', 'account:9'], { wait: '2s' });
    return lock.fencingTokens.get('account:9')!;
  }
  // #endregion
}
