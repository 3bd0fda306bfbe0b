import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  while (!(await redis.set('invoice', 'locked', 'PX', 1000, 'NX'))) await sleep(20);
  try {
    await work();
  } finally {
    await redis.del('invoice');
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('invoice', work);
}
// #endregion

export default {
  title: 'DEL in finally',
  problem:
    'A holder that was paused past its lease deletes the lock of the next holder. Then a third one comes in beside it.',
  remedy: 'A release names the claim of its holder. Redis frees nothing for a holder whose lease is over.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/guarantees.md#g7-only-the-holder-ends-or-renews',
  keys: ['invoice'],
  // Short, like theirs: the visitors wait for its end.
  client: { lease: '1s' },
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben, cem] = await stage.start('Ann', 'Ben', 'Cem');
    const late = ann.call();
    await stage.until(() => late.isInside);
    await stage.step('Ann has the lock and works.', { at: 'work' });
    ann.pause();
    await stage.step('Ann’s process stands still (SIGSTOP), as in a long garbage collection.');
    const holder = ben.call();
    await stage.until(() => holder.isInside);
    await stage.step('Her lease has ended. Ben has the lock and works.');
    ann.resume();
    late.leave();
    await stage.until(() => late.isOver);
    await stage.step('Ann wakes up, and her work ends: she releases “her” lock.', { at: 'finally' });
    const third = cem.call();
    const outcome = await stage.first({
      two: () => third.isInside && holder.isInside,
      waits: stage.isWaiting(third, 'set'),
    });
    if (outcome === 'two') {
      await stage.step('It was Ben’s. Cem gets the lock while Ben works.', { at: 'del', mood: 'bad' });
      return { broken: true, text: 'two holders' };
    }
    await stage.step('Ben still holds the lock, and Cem waits for him.', { mood: 'good' });
    holder.leave();
    await stage.until(() => third.isInside);
    await stage.step('Ben’s work ends. Now Cem has the lock.');
    third.leave();
    await stage.until(() => third.isOver);
    return { broken: false, text: 'the next holder keeps its lock' };
  },
} satisfies Exhibit;
