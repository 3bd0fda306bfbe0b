import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import type { Stock } from '../stock.js';
import { deleteIfMine } from './delete-if-mine.js';

// #region theirs
async function sell(redis: Redis, stock: Stock, work: Work) {
  const me = randomUUID();
  while (!(await redis.set('tea', me, 'PX', 60_000, 'NX'))) await sleep(20);
  try {
    const left = stock.read();
    await work();
    stock.write(left - 1);
  } finally {
    await deleteIfMine(redis, 'tea', me);
  }
}
// #endregion

// #region ours
const client = { replicas: { count: 1, timeout: '300ms' } } as const;

async function ourSell(locks: RedisLockClient, stock: Stock, work: Work) {
  await locks.using('tea', { wait: '1m' }, async (lock) => {
    stock.raiseFence(lock.fencingToken);
    const left = stock.read();
    await work(lock);
    stock.write(left - 1, lock.fencingToken); // … WHERE fence <= token
  });
}
// #endregion

export default {
  title: 'Lost in a failover',
  problem:
    'Redis answers first, and copies the lock to its replicas then. If the master dies in between, the next master has no such lock.',
  remedy:
    'With replicas, a lock counts when one of them has it. Sentinel may still promote another one: then there are two holders, and the fencing token refuses the first.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/concepts/sentinel.md#confirmed-by-replicas',
  keys: ['tea'],
  sentinel: true,
  client,
  theirs: ({ redis, stock }, work) => sell(redis, stock, work),
  ours: ({ locks, stock }, work) => ourSell(locks, stock, work),
  async run(stage) {
    const { group, stock } = stage;
    const seen = () => [`database: ${stock.read()} left`];
    const master = await group.master();
    const [copy] = group.servers.filter((server) => server !== master);
    await group.exclude(copy!);
    const [ann, ben] = await stage.start('Ann', 'Ben');
    await group.cutReplicas();
    let first = ann.call();
    await stage.until(() => first.isInside || first.isOver);
    if (first.state === 'refused') {
      await stage.step('Neither replica confirms Ann’s lock. It is released, and she is refused.', {
        at: 'replicas',
        seen: seen(),
      });
      await group.follow(copy!, master);
      first = await stage.persist(ann);
      await stage.step(
        'One replica is back, and confirms: Ann has the lock, and has read the stock. The other replica lacks it.',
        { seen: seen() },
      );
    } else
      await stage.step('Ann has the lock, and has read the stock. No replica has the lock yet.', {
        at: 'redis.set',
        seen: seen(),
      });

    await master.kill();
    await group.masterLost();
    await stage.step('The master dies (SIGKILL). Sentinel promotes the replica that lacks the lock.', { seen: seen() });
    if (stage.isOurs) {
      await stage.until(() => first.isLost);
      await stage.step('Ann’s renewal finds no lock at the new master: her signal aborts. Her code ignores it.', {
        seen: seen(),
      });
    }
    const second = await stage.persist(ben);
    await stage.step('Ben gets the lock at the new master. Two callers work.', {
      ...(!stage.isOurs && { mood: 'bad', at: 'redis.set' }),
      seen: seen(),
    });
    second.leave();
    await stage.until(() => second.isOver);
    await stage.sell(ben);
    await stage.step('Ben sells two, one after the other: he writes 9, and 8.', { seen: seen() });
    const left = stock.read();
    first.leave();
    await stage.until(() => first.isOver);
    if (stock.read() !== left) {
      await stage.step('Ann sells one, and writes 9. Three are sold, one is counted.', {
        at: 'write',
        mood: 'bad',
        seen: seen(),
      });
      return { broken: true, text: 'two holders, a lost update' };
    }
    await stage.step('Ann writes all the same. The row has Ben’s token, which is larger: it refuses her write.', {
      at: 'write',
      mood: 'good',
      seen: seen(),
    });
    return { broken: false, text: 'refused without a copy; a late write refused by the row' };
  },
} satisfies Exhibit;
