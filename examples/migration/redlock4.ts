import { Inject, Injectable } from '@nestjs/common';
import { lockName, RedisLockService } from 'nestjs-redis-lock';

/** What this file needs of redlock 4, whose types are a package of their own. */
export interface Redlock4 {
  lock(key: string, ttl: number): PromiseLike<{ unlock(): PromiseLike<void> }>;
}

type Work = (signal?: AbortSignal) => Promise<void>;

@Injectable()
export class Accounts {
  constructor(
    @Inject('redlock') private readonly redlock: Redlock4,
    private readonly locks: RedisLockService,
  ) {}

  // #region before
  async before(id: string, work: Work): Promise<void> {
    const lock = await this.redlock.lock(`account:${id}`, 5000);
    try {
      await work(); // after 5 s it goes on without the lock
    } finally {
      await lock.unlock(); // rejects if the lock had expired
    }
  }
  // #endregion

  // #region both
  // Deploy A: the old lock outside, the new one inside.
  async both(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    const old = await this.redlock.lock(`account:${id}`, 5000);
    try {
      await this.locks.using(name, { wait: '3s' }, ({ signal }) => work(signal));
    } finally {
      await old.unlock();
    }
  }
  // #endregion

  // #region after
  // Deploy B: renewed until the work ends. A lost lock aborts the signal, and the call rejects.
  async after(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: '3s' }, ({ signal }) => work(signal));
  }
  // #endregion
}
