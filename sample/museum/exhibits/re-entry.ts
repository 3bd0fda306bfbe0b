import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';

// #region theirs
/** Re-entrant, as in Java: the holder is the thread. */
async function withLock(redis: Redis, work: Work) {
  const me = `${process.pid}@${hostname()}`;
  while (!(await redis.set('cart', me, 'PX', 60_000, 'NX'))) {
    if ((await redis.get('cart')) === me) break; // it is mine
    await sleep(20);
  }
  try {
    await work();
  } finally {
    await redis.del('cart');
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('cart', work);
}
// #endregion

/** One request calls a locked function inside a locked function. */
const nested = (enter: (work: Work) => Promise<unknown>, work: Work, depth = '1'): Promise<unknown> =>
  depth === '2' ? enter(async () => void (await enter(work))) : enter(work);

export default {
  title: 'Re-entry by process id',
  problem:
    'In Java a thread is one request. A Node process serves many at once, so the second request “re-enters” the lock of the first.',
  remedy: 'Re-entry follows the async context: a call inside the lock enters it again, another request waits.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/re-entry.md#what-is-a-flow',
  keys: ['cart'],
  theirs: ({ redis }, work, depth) => nested((inner) => withLock(redis, inner), work, depth),
  ours: ({ locks }, work, depth) => nested((inner) => withOurLock(locks, inner), work, depth),
  async run(stage) {
    const [server] = await stage.start('the server');
    const first = server.call(['2'], 'Request 1');
    await stage.until(() => first.isInside);
    await stage.step('Request 1 has the lock, and a function inside it takes it again: it enters at once.', {
      at: 'break',
    });
    const second = server.call(['1'], 'Request 2');
    const outcome = await stage.first({
      two: () => first.isInside && second.isInside,
      waits: stage.isWaiting(second, 'set'),
    });
    if (outcome === 'two') {
      await stage.step('Request 2 runs in the same process: it has the same id, and comes in.', {
        at: '=== me',
        mood: 'bad',
      });
      return { broken: true, text: 'two holders' };
    }
    await stage.step('Request 2 runs in the same process, but not inside Request 1: it waits.', { mood: 'good' });
    first.leave();
    await stage.until(() => second.isInside);
    await stage.step('Request 1 is done, and Request 2 has the lock.');
    second.leave();
    await stage.until(() => second.isOver);
    return { broken: false, text: 'one request at a time' };
  },
} satisfies Exhibit;
