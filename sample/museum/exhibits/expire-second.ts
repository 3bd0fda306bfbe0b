import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisLockClient } from 'nestjs-redis-lock/client';
import type { Exhibit, Work } from '../exhibit.js';
import { afterTheCrash } from './after-the-crash.js';

// #region theirs
async function withLock(redis: Redis, work: Work) {
  while ((await redis.setnx('import', 'locked')) === 0) await sleep(20);
  await redis.expire('import', 30);
  try {
    await work();
  } finally {
    await redis.del('import');
  }
}
// #endregion

// #region ours
async function withOurLock(locks: RedisLockClient, work: Work) {
  await locks.using('import', work);
}
// #endregion

export default {
  title: 'EXPIRE as a second command',
  problem:
    'Between SETNX and EXPIRE the process can die, or lose its connection. Then the key has no expiry: locked forever.',
  remedy: 'One script in Redis grants the lock together with its lease. There is no moment between them.',
  docs: 'https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/inside/protocol.md#uncontended-two-commands',
  keys: ['import'],
  // Short, like theirs: the visitors wait for its end.
  client: { lease: '1s' },
  theirs: ({ redis }, work) => withLock(redis, work),
  ours: ({ locks }, work) => withOurLock(locks, work),
  async run(stage) {
    const [ann, ben] = await stage.start('Ann', 'Ben');
    ann.breakBefore('expire');
    ann.call();
    await stage.until(async () => (await stage.endOf('import')) !== -2);
    const granted = await stage.first({
      between: () => ann.stoppedAt === 'expire',
      withLease: async () => (await stage.endOf('import')) > 0,
    });
    if (granted === 'between')
      await stage.step('Ann has set the key. The next command would be EXPIRE.', { at: 'expire' });
    else await stage.step('Ann has the lock. The record came into Redis with its lease: there is no second command.');
    await ann.kill();
    await stage.step('Ann’s process is killed (SIGKILL) at this moment.');
    return afterTheCrash(stage, ben, 'import', 'setnx');
  },
} satisfies Exhibit;
