import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { deleteIfMine } from './delete-if-mine.js';

// #region theirs
async function withLock(redis: Redis, account: string, work: Work) {
  const me = randomUUID();
  while (!(await redis.set(account, me, 'PX', 60_000, 'NX'))) await sleep(20);
  try {
    await work();
  } finally {
    await deleteIfMine(redis, account, me);
  }
}

async function transfer(redis: Redis, from: string, to: string, work: Work) {
  await withLock(redis, from, () => withLock(redis, to, work));
}
// #endregion

// #region ours
async function ourTransfer(locks: RedisLockClient, from: string, to: string, work: Work) {
  await locks.using([from, to], work);
}
// #endregion

export default {
  title: 'Two locks in two orders',
  problem: 'One transfer goes from A to B, the other one from B to A. Each holds what the other one wants.',
  remedy: 'An array of keys is taken in one order, the same for all callers: all of them or none.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/how-to/several-keys.md',
  keys: ['DE-47', 'FR-08'],
  theirs: ({ redis }, work, from, to) => transfer(redis, from, to, work),
  ours: ({ locks }, work, from, to) => ourTransfer(locks, from, to, work),
  async run(stage) {
    const [ann, ben] = await stage.start('Ann', 'Ben');
    ann.breakBefore('set', 1);
    const there = ann.call(['DE-47', 'FR-08']);
    await stage.first({ half: () => ann.stoppedAt === 'set', whole: () => there.isInside });
    await stage.step(
      there.isInside
        ? 'Ann transfers from DE-47 to FR-08: she has both locks.'
        : 'Ann transfers from DE-47 to FR-08. She has the first lock.',
      { at: 'withLock(redis, from' },
    );
    ben.breakBefore('set', 1);
    const back = ben.call(['FR-08', 'DE-47']);
    await stage.first({
      half: () => ben.stoppedAt === 'set',
      waits: () => back.state === 'waits',
      whole: () => back.isInside,
    });
    await stage.step(
      back.state === 'waits'
        ? 'Ben transfers from FR-08 to DE-47. He waits, and holds nothing.'
        : 'Ben transfers from FR-08 to DE-47. He has his first lock, too.',
      { at: 'withLock(redis, from' },
    );
    ann.continue();
    ben.continue();
    const bothAsk = [stage.isWaiting(there, 'set'), stage.isWaiting(back, 'set')];
    const outcome = await stage.first({
      deadlock: () => bothAsk.every((asks) => asks()),
      works: () => there.isInside || back.isInside,
    });
    if (outcome === 'deadlock') {
      await stage.step('Both ask for the second lock, which the other one holds: neither gets it.', {
        at: 'while',
        mood: 'bad',
      });
      return { broken: true, text: 'deadlock' };
    }
    const [one, other] = there.isInside ? [there, back] : [back, there];
    one.leave();
    await stage.until(() => other.isInside);
    await stage.step(`${one.name} is done, and ${other.name} has both locks.`, { mood: 'good' });
    other.leave();
    await stage.until(() => other.isOver);
    return { broken: false, text: 'one order for all' };
  },
} satisfies Exhibit;
