import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { lockName, RedisLockService } from 'nestjs-redis-lock';

type Work = (signal?: AbortSignal) => Promise<void>;

@Injectable()
export class Accounts {
  constructor(
    @Inject('redis') private readonly redis: Redis,
    private readonly locks: RedisLockService,
  ) {}

  // #region before
  async before(id: string, work: Work): Promise<void> {
    const key = `lock:account:${id}`;
    const owner = randomUUID();
    while ((await this.redis.set(key, owner, 'PX', 30_000, 'NX')) === null) await sleep(50);
    try {
      await work(); // after 30 s it goes on without the lock
    } finally {
      // Deletes the key only if it is still ours.
      await this.redis.eval(
        `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end`,
        1,
        key,
        owner,
      );
    }
  }
  // #endregion

  // #region both
  // Deploy A: the old lock outside, the new one inside.
  async both(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.before(id, async () => {
      await this.locks.using(name, { wait: '3s' }, ({ signal }) => work(signal));
    });
  }
  // #endregion

  // #region after
  // Deploy B: the new one alone.
  async after(id: string, work: Work): Promise<void> {
    const name = lockName`account:${id}`;
    await this.locks.using(name, { wait: '3s' }, ({ signal }) => work(signal));
  }
  // #endregion
}
