/**
 * Before the first room that needs Redis: one server for all, the package built for tests that fork processes, and
 * their workers. Plain JavaScript, because jest loads it with Node's own import().
 */
import { build } from '../../scripts/build.mjs';
import { redisForThisRun } from './redis-process.mjs';
import { buildWorkers } from './build-workers.mjs';
import { shared } from './shared-run.mjs';

export default async function setUp() {
  shared.started ??= start();
  await shared.started;
}

async function start() {
  await build({ ifStale: true });
  await buildWorkers();
  const redis = await redisForThisRun();
  shared.stop = () => redis.stop();
  // jest forks its workers after this, so they inherit it.
  process.env['REDIS_URL'] = redis.url;
}
