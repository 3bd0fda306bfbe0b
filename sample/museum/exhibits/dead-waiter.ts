import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  const me = randomUUID();
  await redis.rpush('printer', me); // fair: a queue
  while ((await redis.lindex('printer', 0)) !== me) await sleep(20);
  try {
    await work();
  } finally {
    await redis.lpop('printer');
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('printer', { wait: '1m' }, work);
}
// #endregion

export default {
  title: 'A waiter that died',
  problem:
    'A list in Redis makes the lock fair. But a waiter that dies stays in it, and when its turn comes, it is no one’s turn.',
  remedy: 'The release asks Redis which waiters are still connected, and hands the lock to the first one that lives.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/inside/protocol.md#a-waiter-that-dies-stops-or-loses-its-messages',
  keys: ['printer'],
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben, cem] = await stage.start('Ann', 'Ben', 'Cem');
    const holder = ann.call();
    await stage.until(() => holder.isInside);
    const dying = ben.call();
    await stage.until(stage.isWaiting(dying, 'lindex', 2));
    const living = cem.call();
    await stage.until(stage.isWaiting(living, 'lindex', 2));
    await stage.step('Ann has the lock. Ben waits, and behind him Cem.', { at: 'lindex' });
    await ben.kill();
    await stage.step('Ben’s process is killed (SIGKILL) while it waits.');
    holder.leave();
    await stage.until(() => holder.isOver);
    const hasAsked = stage.isWaiting(living, 'lindex');
    const outcome = await stage.first({
      served: () => living.isInside,
      stuck: () => !living.isInside && living.state === 'asks' && hasAsked(),
    });
    if (outcome === 'stuck') {
      await stage.step('Ann is done. It is the turn of a dead process: Cem waits forever.', {
        at: 'lindex',
        mood: 'bad',
      });
      return { broken: true, text: 'locked forever' };
    }
    await stage.step('Ann is done. Her release skips the dead waiter: Cem has the lock.', { mood: 'good' });
    living.leave();
    await stage.until(() => living.isOver);
    return { broken: false, text: 'the dead waiter is skipped' };
  },
} satisfies Exhibit;
