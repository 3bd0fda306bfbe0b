import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { forkWorker } from '../../support/worker.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

// A bound that may only become smaller: what each call runs is what a reader of it has to know.
it('a decorated call of a free lock runs at most 36 files and 180 functions of lib', async () => {
  await using worker = forkWorker('one-call', { env: { REDIS_URL: redis.url } });
  const { files } = await worker.message<{ files: ReadonlyArray<{ file: string; called: string[] }> }>();
  const functions = files.flatMap(({ file, called }) => called.map((name) => `${file}: ${name}`));
  expect(files.length).toBeLessThanOrEqual(36);
  expect(functions.length).toBeLessThanOrEqual(180);
}, 60_000);
