import { Inject, Injectable } from '@nestjs/common';
import { lockName, RedisLockService } from 'nestjs-redis-lock';

/** What this file needs of redlock 5. */
export interface Redlock {
  using<T>(keys: string[], duration: number, work: (signal: AbortSignal & { error?: Error }) => Promise<T>): Promise<T>;
}

type Work = (signal: AbortSignal) => Promise<void>;

@Injectable()
export class Accounts {
  constructor(
    @Inject('redlock') private readonly redlock: Redlock,
    private readonly locks: RedisLockService,
  ) {}

  // #region before
  async before(id: string, work: Work): Promise<void> {
    await this.redlock.using([`account:${id}`], 5000, async (signal) => {
      await work(signal);
      if (signal.aborted) throw signal.error!;
    });
  }
  // #endregion

  // #region both
  // Deploy A: the old lock outside, the new one inside.
  async both(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.redlock.using([`account:${id}`], 5000, async (old) => {
      await this.locks.using(name, { wait: '3s' }, async ({ signal }) => {
        await work(AbortSignal.any([old, signal]));
      });
    });
  }
  // #endregion

  // #region after
  // Deploy B: the new one alone. It rejects by itself if the lock was lost.
  async after(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: '3s' }, ({ signal }) => work(signal));
  }
  // #endregion
}
