import { Injectable } from '@nestjs/common';
import { type LockHolderInfo, type LockInfo, RedisLockService } from 'nestjs-redis-lock';

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

  async takeAway(key: string, { fencingToken }: LockHolderInfo, actor: string, reason: string): Promise<boolean> {
    return this.locks.forceRelease(key, { fencingToken, actor, reason }); // true: this holder has lost it
  }
  // #endregion
}
