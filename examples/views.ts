import { Injectable } from '@nestjs/common';
import { type LockInfo, RedisLockService } from 'nestjs-redis-lock';

@Injectable()
export class LockDesk {
  constructor(private readonly locks: RedisLockService) {}

  // #region views
  async look(key: string): Promise<LockInfo> {
    return this.locks.inspect(key);
  }

  async held(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.locks.list({ startsWith: 'report:' })) names.push(name);
    return names;
  }

  async takeAway(key: string): Promise<boolean> {
    return this.locks.forceRelease(key); // true: a holder has lost it
  }
  // #endregion
}
