import { Injectable } from '@nestjs/common';
import { currentLock, DistributedLock, lockName, RedisLockService } from 'nestjs-redis-lock';

@Injectable()
export class Transfers {
  // #region function
  @DistributedLock({
    key: (from: string, to: string) =>
      from < to ? lockName`transfer:${from}:${to}` : lockName`transfer:${to}:${from}`,
  })
  async transfer(from: string, to: string): Promise<string> {
    return `${from} to ${to} under ${currentLock()!.key}`;
  }
  // #endregion
}

@Injectable()
export class Files {
  constructor(private readonly locks: RedisLockService) {}

  // #region by-hand
  @DistributedLock('file:#{path}')
  async write(path: string, text: string): Promise<string> {
    return `${text} under ${currentLock()!.key}`;
  }

  // The same lock: 's3://bucket/x' is file:s3%3A//bucket/x in both.
  async writeAll(path: string, texts: string[]): Promise<string[]> {
    return this.locks.using(lockName`file:${path}`, async () =>
      Promise.all(texts.map((text) => this.write(path, text))),
    );
  }
  // #endregion
}
