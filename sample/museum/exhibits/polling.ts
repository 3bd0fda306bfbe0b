import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { deleteIfMine } from './delete-if-mine.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  const me = randomUUID();
  while (!(await redis.set('seats', me, 'PX', 60_000, 'NX'))) await sleep(20);
  try {
    await work();
  } finally {
    await deleteIfMine(redis, 'seats', me);
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('seats', { wait: '1m' }, work);
}
// #endregion

const turns = 5;
const callers = 10;

export default {
  title: 'Polling',
  problem:
    'Whether a waiter gets the lock depends on when it asks: later ones overtake it. And all of them ask all the time, in vain.',
  remedy: 'Waiters stand in a queue in Redis. The release hands the lock to the first one, by a message.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/waiting.md#what-is-a-hand-off',
  keys: ['seats'],
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben, cem] = await stage.start('Ann', 'Ben', 'Cem');
    let holder = ann.call();
    await stage.until(() => holder.isInside);
    const first = ben.call();
    await stage.until(stage.isWaiting(first, 'set', 1));
    ben.breakBefore('set');
    await stage.first({ asleep: () => ben.stoppedAt === 'set', waits: () => first.state === 'waits' });
    await stage.step('Ann has the lock. Ben was the first to ask for it: he is next.', { at: 'sleep' });

    let overtaken = 0;
    for (let turn = 0; turn < turns; turn++) {
      const next = (turn % 2 === 0 ? cem : ann).call();
      holder.leave();
      const outcome = await stage.first({ later: () => next.isInside, first: () => first.isInside });
      if (outcome === 'first') {
        await stage.until(() => next.state === 'waits');
        break;
      }
      overtaken++;
      holder = next;
      // His sleep ends, he asks, and sleeps again.
      ben.breakBefore('set');
      ben.continue();
      await stage.until(() => ben.stoppedAt === 'set');
    }
    if (overtaken > 0) {
      await stage.step(`${overtaken} times the lock was released while Ben slept: ${overtaken} later callers got it.`, {
        at: 'sleep',
        mood: 'bad',
      });
    } else await stage.step('Ann’s release hands the lock to Ben. Cem, who came later, waits.', { mood: 'good' });

    const count = await stage.countNewcomers('seats');
    const [crowd] = await stage.start('Ten others');
    const others = Array.from({ length: callers }, () => crowd.call());
    const storm = await stage.first({
      storm: () => crowd.sent('set') >= 300,
      quiet: () => others.every(({ state }) => state === 'waits'),
    });
    const sent = await count();
    if (storm === 'storm') {
      await stage.step('Ten more callers wait. They have sent 300 commands in vain, and go on.', {
        at: 'redis.set',
        mood: 'bad',
      });
      return { broken: true, text: `starved ${overtaken} times, a storm of commands` };
    }
    await stage.step(`Ten more callers wait, with ${sent} ${sent === 1 ? 'command' : 'commands'} to Redis in all.`, {
      mood: 'good',
    });
    return { broken: overtaken > 0 || sent > callers, text: 'in order of arrival, no polling' };
  },
} satisfies Exhibit;
