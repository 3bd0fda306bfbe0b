import { Injectable } from '@nestjs/common';
import { RedisLockService } from 'nestjs-redis-lock';

@Injectable()
export class Search {
  readonly built: (number | undefined)[] = [];

  // #region calls
  constructor(private readonly locks: RedisLockService) {}

  // Around a function: its result is returned, and the lock is released when it ends.
  async rebuild(): Promise<number> {
    return this.locks.using('search:index', { wait: '5s' }, async ({ fencingToken, signal }) =>
      this.build(fencingToken, signal),
    );
  }

  // For a block: the lock is released at its end. `return await`, because the lock covers only what is awaited.
  async check(): Promise<number> {
    await using lock = await this.locks.acquire('search:index', { wait: '5s' });
    return await this.build(lock.fencingToken, lock.signal);
  }

  // One try: null when another caller has the lock.
  async rebuildUnlessRunning(): Promise<number | undefined> {
    await using lock = await this.locks.tryAcquire('search:index');
    if (!lock) return undefined;
    return await this.build(lock.fencingToken, lock.signal);
  }
  // #endregion

  // #region finally
  async checkWithoutUsing(): Promise<number> {
    const lock = await this.locks.acquire('search:index', { wait: '5s' });
    try {
      return await this.build(lock.fencingToken, lock.signal);
    } finally {
      await lock.release();
    }
  }
  // #endregion

  // #region free
  async whenBuilt(): Promise<number | undefined> {
    return this.locks.using('search:index', { shared: true, wait: '1m' }, () => this.built.at(-1));
  }
  // #endregion

  private async build(fencingToken: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    this.built.push(fencingToken);
    return this.built.length;
  }
}
