import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { afterTheCrash } from './after-the-crash.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  while ((await redis.setnx('report', 'locked')) === 0) await sleep(20);
  try {
    await work();
  } finally {
    await redis.del('report');
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('report', work);
}
// #endregion

export default {
  title: 'SETNX without an expiry',
  problem:
    'A process that dies inside the lock runs no finally block. The key stays, and no one ever gets the lock again.',
  remedy: 'Each lock is a lease. It is renewed while the process lives, and ends soon after the process has died.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/lease.md#what-is-a-lease',
  keys: ['report'],
  // Short, like theirs: the visitors wait for its end.
  client: { lease: '1s' },
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben] = await stage.start('Ann', 'Ben');
    const holder = ann.call();
    await stage.until(() => holder.isInside);
    await stage.step('Ann has the lock and works.', { at: 'work' });
    await ann.kill();
    await stage.step('Ann’s process is killed (SIGKILL). Code behind her work does not run.', { at: 'finally' });
    return afterTheCrash(stage, ben, 'report', 'setnx');
  },
} satisfies Exhibit;
