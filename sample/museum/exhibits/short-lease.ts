import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { deleteIfMine } from './delete-if-mine.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  const me = randomUUID();
  while (!(await redis.set('export', me, 'PX', 1000, 'NX'))) await sleep(20);
  try {
    await work(); // "never takes longer than a second"
  } finally {
    await deleteIfMine(redis, 'export', me);
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('export', work);
}
// #endregion

export default {
  title: 'A lease shorter than the work',
  problem: 'The lease is a guess. On the day the work takes longer, the lock is free while its holder still works.',
  remedy: 'The lease is renewed until the work ends. If it is lost all the same, the signal aborts.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/lease.md#fixed-or-renewed',
  keys: ['export'],
  // Short, like theirs: the visitors wait for its end.
  client: { lease: '1s' },
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben] = await stage.start('Ann', 'Ben');
    const slow = ann.call();
    await stage.until(() => slow.isInside);
    const end = await stage.endOf('export');
    await stage.step('Ann has the lock for one second, and works.', { at: 'work' });
    const next = ben.call();
    await stage.until(stage.isWaiting(next, 'set', 3));
    await stage.step('Ben waits. Ann’s work takes longer today.');
    const outcome = await stage.first({
      two: () => next.isInside,
      renewed: async () => (await stage.now()) > end && (await stage.endOf('export')) > end && next.state === 'waits',
    });
    if (outcome === 'two') {
      await stage.step('The second is over, and Ann is not done. Ben gets the lock beside her.', {
        at: 'PX',
        mood: 'bad',
      });
      return { broken: true, text: 'two holders' };
    }
    await stage.step('The second is over, and Ann is not done. Her lease was renewed: Ben waits.', { mood: 'good' });
    slow.leave();
    await stage.until(() => next.isInside);
    await stage.step('Ann’s work ends. Her release hands the lock to Ben.');
    next.leave();
    await stage.until(() => next.isOver);
    return { broken: false, text: 'renewed while the work runs' };
  },
} satisfies Exhibit;
