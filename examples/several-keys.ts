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

  // #region steps
  /** Runs the work inside the locks of any number of names. */
  async usingAll<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const inOrder = [...new Set(names)].toSorted();
    const step = (from: number): Promise<T> =>
      from >= inOrder.length ? work() : this.locks.using(inOrder.slice(from, from + 250), () => step(from + 250));
    return step(0);
  }
  // #endregion

  // #region service
  async audit(): Promise<number> {
    await using lock = await this.locks.acquire(['account:7', 'account:9'], { wait: '2s' });
    return lock.fencingTokens.get('account:9')!;
  }
  // #endregion
}
