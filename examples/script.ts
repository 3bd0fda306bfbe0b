// #region script
import { createLockClient } from 'nestjs-redis-lock/client';

export async function importFeeds(feeds: string[], load: (feed: string, token: number) => Promise<void>) {
  await using locks = createLockClient({ redis: process.env['REDIS_URL'], lease: '10s' });
  await locks.using('feeds:import', { wait: '1m', label: 'nightly' }, async ({ signal, fencingToken }) => {
    for (const feed of feeds) {
      signal.throwIfAborted(); // the lock was lost
      await load(feed, fencingToken);
    }
  });
}
// #endregion
