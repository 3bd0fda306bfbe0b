import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type Database from 'libsql';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { deleteIfMine } from './delete-if-mine.js';

// #region theirs
async function sell(redis: Redis, database: Database.Database, work: Work) {
  const me = randomUUID();
  while (!(await redis.set('stock', me, 'PX', 1000, 'NX'))) await sleep(20);
  try {
    const row = database.prepare('SELECT left FROM stock').get() as { left: number };
    await work();
    database.prepare('UPDATE stock SET left = ?').run(row.left - 1);
  } finally {
    await deleteIfMine(redis, 'stock', me);
  }
}
// #endregion

// #region ours
async function ourSell(locks: RedisLockClient, database: Database.Database, work: Work) {
  await locks.using('stock', async (lock) => {
    const token = lock.fencingToken;
    database.prepare('UPDATE stock SET fence = ? WHERE fence <= ?').run(token, token);
    const row = database.prepare('SELECT left FROM stock').get() as { left: number };
    await work(lock);
    const { changes } = database.prepare('UPDATE stock SET left = ? WHERE fence <= ?').run(row.left - 1, token);
    if (changes === 0) throw new Error('refused by the row: a later holder was here');
  });
}
// #endregion

export default {
  title: 'A late write without a token',
  problem:
    'A holder that was paused past its lease writes what it read before. No lock can stop a write that is under way.',
  remedy:
    'Each holder has a larger fencing token than all before it. The row keeps the largest, and refuses the others.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/fencing.md#why-a-lock-is-not-enough',
  keys: ['stock'],
  // Short, like theirs: the visitors wait for its end.
  client: { lease: '1s' },
  theirs: ({ redis, database }, work) => sell(redis, database, work),
  ours: ({ locks, database }, work) => ourSell(locks, database, work),
  async run(stage) {
    const { stock } = stage;
    const seen = () => [`database: ${stock.read()} left`];
    const [ann, ben] = await stage.start('Ann', 'Ben');
    const late = ann.call();
    await stage.until(() => late.isInside);
    await stage.step('Ann has the lock, and has read the stock: 10.', { at: 'SELECT', seen: seen() });
    ann.pause();
    await stage.step('Ann’s process stands still (SIGSTOP), past its lease.', { at: 'work(', seen: seen() });
    await stage.sell(ben);
    await stage.sell(ben);
    await stage.step('Ben gets the lock, and sells two, one after the other: he writes 9, and 8.', { seen: seen() });
    const left = stock.read();
    ann.resume();
    late.leave();
    await stage.until(() => late.isOver);
    if (stock.read() !== left) {
      await stage.step('Ann wakes up, sells one, and writes 9. Three are sold, one is counted.', {
        at: 'SET left',
        mood: 'bad',
        seen: seen(),
      });
      return { broken: true, text: 'a lost update' };
    }
    await stage.step('Ann wakes up and writes. The row has Ben’s token, which is larger: it refuses her write.', {
      at: 'SET left',
      mood: 'good',
      seen: seen(),
    });
    return { broken: false, text: 'refused by the row' };
  },
} satisfies Exhibit;
