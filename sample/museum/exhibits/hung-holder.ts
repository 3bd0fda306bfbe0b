import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { deleteIfMine } from './delete-if-mine.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  const me = randomUUID();
  while (!(await redis.set('sync', me, 'PX', 600, 'NX'))) await sleep(20);
  const watchdog = setInterval(() => void redis.pexpire('sync', 600), 100);
  try {
    await work();
  } finally {
    clearInterval(watchdog);
    await deleteIfMine(redis, 'sync', me);
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('sync', { maxHold: '1s' }, work);
}
// #endregion

/** Far more than the library makes within its maxHold. */
const renewals = 20;

export default {
  title: 'A watchdog without a bound',
  problem:
    'A promise that never settles hangs, and the watchdog beside it lives: it keeps the lock for as long as the process runs.',
  remedy:
    'maxHold ends a hold that takes too long: the signal aborts, renewal stops, and the lock is free when its lease ends.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/lease.md#fixed-or-renewed',
  keys: ['sync'],
  // Short, like theirs: the visitors wait for its end.
  client: { lease: 300 },
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben] = await stage.start('Ann', 'Ben');
    const hung = ann.call();
    await stage.until(() => hung.isInside);
    await stage.step('Ann has the lock. Her work waits for an answer that never comes.', { at: 'work' });
    const next = ben.call();
    await stage.until(stage.isWaiting(next, 'set', 3));
    await stage.step('Ben waits for the lock.');
    const ends = new Set<number>();
    const outcome = await stage.first({
      ended: () => hung.isLost,
      forEver: async () => ends.add(await stage.endOf('sync')).size > renewals,
    });
    if (outcome === 'forEver') {
      await stage.step('The lease was renewed 20 times. No line of this code ends that, and Ben waits.', {
        at: 'setInterval',
        mood: 'bad',
      });
      return { broken: true, text: 'held forever' };
    }
    await stage.step('maxHold is over: the signal of Ann’s lock aborts, and its renewal stops.', { at: 'maxHold' });
    await stage.until(() => next.isInside);
    await stage.step('Ben has the lock and works. Ann’s work hangs, without a lock.', { mood: 'good' });
    next.leave();
    await stage.until(() => next.isOver);
    return { broken: false, text: 'ended by maxHold' };
  },
} satisfies Exhibit;
