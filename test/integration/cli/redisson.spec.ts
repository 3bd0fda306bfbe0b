import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { cli } from '../../support/cli-process.js';
import { sharedRedisUrl } from '../../support/redis-server.js';

const thread = '8743c9c0-0795-4907-87fd-6c719a6b4586:47';
let redis: Redis;
let locks: RedisLockClient;
let name: string;

beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
  locks = createLockClient({ redis: sharedRedisUrl(), redisson: true, shutdownTimeout: 0 });
});
afterAll(async () => {
  await locks.close();
  await redis.quit();
});
beforeEach(() => {
  name = `product:${randomUUID()}`;
});

/** As a service in Java takes it. */
const lockInJava = (): Promise<unknown> => redis.multi().hincrby(name, thread, 1).pexpire(name, 30_000).exec();
const run = (...args: string[]) => cli([...args, '--redisson'], { redis: sharedRedisUrl() });

describe('a lock that Java holds, in the command line', () => {
  it('is shown with the field of its holder and the rest of its lease, and without a token or a time', async () => {
    await lockInJava();
    const { code, output } = await run('inspect', name);
    expect(code).toBe(0);
    expect(output).toMatch(new RegExp(`^${name} exclusive\n  held by client ${thread}, lease ends in 2\\d\\.\\ds\n$`));
    const { holders } = JSON.parse((await run('inspect', name, '--json')).output) as { holders: object[] };
    const held = { foreign: true, leaseLeft: expect.any(Number), state: 'held', permits: 1 };
    expect(holders).toEqual([{ client: thread, ...held }]);
  });

  it('without an expiry is shown with a lease that never ends, in JSON as null', async () => {
    await redis.hset(name, thread, 1);
    expect((await run('inspect', name)).output).toContain(`held by client ${thread}, lease never ends\n`);
    const { holders } = JSON.parse((await run('inspect', name, '--json')).output) as { holders: object[] };
    expect(holders).toMatchObject([{ client: thread, leaseLeft: null }]);
    await redis.del(name);
  });

  it('is taken away by its field, and from no other holder', async () => {
    await lockInJava();
    const other = thread.replace(/47$/, '48');
    const release = (client: string) => run('release', name, '--client', client, '--reason', 'a ghost', '--yes');
    expect((await release(other)).code).toBe(3);
    expect(await redis.exists(name)).toBe(1);
    const { code, output } = await release(thread);
    expect([code, output]).toEqual([0, expect.stringMatching(`^Released '${name}', which client ${thread} held. By `)]);
    expect(await redis.exists(name)).toBe(0);
  });

  it('as one of two readers is taken away alone, and named', async () => {
    const other = `${thread}8`;
    await redis.hset(name, { mode: 'read', [other]: 1, [thread]: 1 });
    const { code, output } = await run('release', name, '--client', thread, '--reason', 'a ghost', '--yes');
    expect([code, output]).toEqual([0, expect.stringContaining(`which client ${thread} held.`)]);
    expect(await redis.hkeys(name)).toEqual(['mode', other]);
    await redis.del(name);
  });

  it('is not needed to be held by Java: the lock of this library has its token and its time', async () => {
    const lock = await locks.acquire(name);
    const { output } = await run('inspect', name);
    expect(output).toMatch(new RegExp(`held by .* for \\d\\.\\ds, .*, token ${lock.fencingToken}\n`));
    await lock.release();
    expect((await run('inspect', name)).output).toBe(`${name} is free.\n`);
  });

  it('is not listed: a name does not show that it is a lock; who waits for whom is known from the processes', async () => {
    for (const view of ['ls', 'watch']) {
      const { code, errors } = await run(view);
      expect([code, errors]).toEqual([64, expect.stringMatching(`: ${view}: locks in Redisson's .*inspect NAME`)]);
    }
    expect((await run('tree')).code).toBe(0);
  });
});
