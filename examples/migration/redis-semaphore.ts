import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { lockName, RedisLockService } from 'nestjs-redis-lock';
import { Mutex, Semaphore } from 'redis-semaphore';

type Work = (signal?: AbortSignal) => Promise<void>;

@Injectable()
export class Accounts {
  constructor(
    @Inject('redis') private readonly redis: Redis,
    private readonly locks: RedisLockService,
  ) {}

  // #region before
  async before(id: string, work: Work): Promise<void> {
    const lost = new AbortController();
    const mutex = new Mutex(this.redis, `account:${id}`, {
      acquireTimeout: 3000,
      onLockLost: (error) => lost.abort(error), // without it a loss is an unhandled error
    });
    await mutex.acquire();
    try {
      await work(lost.signal);
    } finally {
      await mutex.release();
    }
  }
  // #endregion

  // #region both
  // Deploy A: the old lock outside, the new one inside.
  async both(id: string, work: Work): Promise<void> {
    const lost = new AbortController();
    const mutex = new Mutex(this.redis, `account:${id}`, {
      acquireTimeout: 3000,
      onLockLost: (error) => lost.abort(error),
    });
    await mutex.acquire();
    try {
      await this.locks.using(lockName`account:${id}`, { wait: '3s' }, async ({ signal }) => {
        await work(AbortSignal.any([lost.signal, signal]));
      });
    } finally {
      await mutex.release();
    }
  }
  // #endregion

  // #region after
  // Deploy B: the new lock alone.
  async after(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: '3s' }, ({ signal }) => work(signal));
  }
  // #endregion
}

/** At most two calls of a gateway at once. */
@Injectable()
export class Gateway {
  constructor(
    @Inject('redis') private readonly redis: Redis,
    private readonly locks: RedisLockService,
  ) {}

  // #region permits-before
  async before(name: string, work: Work): Promise<void> {
    const options = { acquireTimeout: 3000 };
    const semaphore = new Semaphore(this.redis, `gateway:${name}`, 2, options);
    await semaphore.acquire();
    try {
      await work();
    } finally {
      await semaphore.release();
    }
  }
  // #endregion

  // #region permits-both
  // Deploy A: a permit of both.
  async both(name: string, work: Work): Promise<void> {
    const options = { acquireTimeout: 3000 };
    const semaphore = new Semaphore(this.redis, `gateway:${name}`, 2, options);
    await semaphore.acquire();
    try {
      const permits = { limit: 2, wait: '3s' } as const;
      await this.locks.using(lockName`gateway:${name}`, permits, ({ signal }) => work(signal));
    } finally {
      await semaphore.release();
    }
  }
  // #endregion

  // #region permits-after
  // Deploy B: the new permits alone.
  async after(name: string, work: Work): Promise<void> {
    const permits = { limit: 2, wait: '3s' } as const;
    await this.locks.using(lockName`gateway:${name}`, permits, ({ signal }) => work(signal));
  }
  // #endregion
}
