import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisBackend } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { startRedis } from '../../support/redis-server.js';

const key = 'lock:1:activity';

/** On a server of its own: the records of other tests would keep the key alive. */
describe('the records of processes in Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let admin: Redis;
  let backend: RedisBackend;

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    backend = new RedisBackend({ redis: server.url, poll: 5_000, commandTimeout: 5_000, log: new KeptLog() });
    await backend.start('client.host.1', { granted: () => undefined, recovered: () => undefined });
  });
  beforeEach(async () => {
    await admin.flushall();
  });
  afterAll(async () => {
    await backend.close();
    await admin.quit();
    await server.stop();
  });

  const report = (process: string, lasts: number) => backend.report({ process, text: '{}', rank: 1, lasts });
  /** As a process that is gone has left it. */
  const outdated = (process: string) => admin.hset(key, process, '1 1 1 {}');

  it('last as long as the one that lasts longest, in any order', async () => {
    await report('brief', 5_000);
    await report('long', 60_000);
    expect(await admin.pttl(key)).toBeGreaterThan(30_000);
    await report('brief', 5_000);
    expect(await admin.pttl(key)).toBeGreaterThan(30_000);
  });

  it('are cleared of those of processes that are gone, wherever these stand, by those that write', async () => {
    for (let index = 0; index < 10; index++) await report(`there.${index}`, 600_000);
    for (let index = 0; index < 10; index++) await outdated(`gone.${index}`);
    // Each write looks at some of them, from another place on.
    while ((await admin.hlen(key)) > 10) await report('there.0', 600_000);
    expect((await admin.hkeys(key)).every((process) => process.startsWith('there.'))).toBe(true);
  });

  it('are cleared of few by one write', async () => {
    for (let index = 0; index < 50; index++) await outdated(`gone.${index}`);
    await report('there', 600_000);
    expect(await admin.hlen(key)).toBeGreaterThanOrEqual(45);
  });

  it('stay as they are when someone looks at them', async () => {
    await report('there', 600_000);
    await outdated('gone');
    const before = await admin.hgetall(key);
    expect(await backend.reports(10)).toMatchObject({ total: 1, reports: [{ process: 'there' }] });
    expect(await admin.hgetall(key)).toEqual(before);
  });
});
