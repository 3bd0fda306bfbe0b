import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { exclusive, lockDefaults } from 'nestjs-redis-lock/backend';
import { RedisBackend } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import type { RedisServer } from '../../support/redis-server.js';
import { Engine, unique } from './engine.js';
import { serverOfDescribe } from './server-of-describe.js';

/** What the scripts do inside the server: no request, no round trip. `publish` is counted, it reaches another client. */
const inside = new Set(
  'time get mget set del exists zadd zrem zrangebyscore zrevrangebyscore zscore hset hget hmget hdel pttl pexpire pubsub|numsub'.split(
    ' ',
  ),
);

/** Every command that the server executed since `CONFIG RESETSTAT`, inside scripts too, except this INFO. */
async function executed(admin: Redis): Promise<Record<string, number>> {
  const text = await admin.info('commandstats');
  const calls = [...text.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)].map(
    ([, name, count]) => [name!, Number(count)] as const,
  );
  return Object.fromEntries(calls.filter(([name]) => !['info', 'config|resetstat'].includes(name)));
}

/** The same without the commands inside scripts. */
async function requests(admin: Redis): Promise<Record<string, number>> {
  return Object.fromEntries(Object.entries(await executed(admin)).filter(([name]) => !inside.has(name)));
}

describe('the cost of locks, by INFO commandstats', () => {
  let server: RedisServer;
  let admin: Redis;

  serverOfDescribe((started) => ({ server, admin } = started));

  it('is exactly 2 requests, and no subscription, for an uncontended acquire and release', async () => {
    await using a = await Engine.start({ redis: server.url });
    await admin.config('RESETSTAT');
    for (let times = 0; times < 10; times++) await (await a.acquire(unique())).release();
    expect(await requests(admin)).toEqual({ evalsha: 20 });
    expect(await admin.client('LIST', 'TYPE', 'PUBSUB')).toBe('');
  });

  it('is 2 requests for five free names in one acquisition, and 1 more for each contended name', async () => {
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const names = Array.from({ length: 5 }, (_, index) => `several:${index}`);
    await admin.config('RESETSTAT');
    for (let times = 0; times < 10; times++) await (await a.acquire(names)).release();
    expect(await requests(admin)).toEqual({ evalsha: 20 });

    const others = await b.acquire(names[2]!);
    await admin.config('RESETSTAT');
    await expect(a.acquire(names, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED', key: names[2] });
    // One request, and all names that it took are released at once.
    expect(await requests(admin)).toEqual({ evalsha: 2 });
    await others.release();
  });

  it('is four requests for 64 flows in one turn: Redis executes the first while the next is built', async () => {
    await using a = await Engine.start({ redis: server.url });
    await admin.config('RESETSTAT');
    const locks = await Promise.all(Array.from({ length: 64 }, () => a.acquire(unique())));
    expect(await requests(admin)).toEqual({ evalsha: 4 });
    await Promise.all(locks.map((lock) => lock.release()));
    expect(await requests(admin)).toEqual({ evalsha: 8 });
  });

  it('is one connection for a client that never waits', async () => {
    const connections = async (): Promise<number> =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    await using a = await Engine.start({ redis: server.url });
    await (await a.acquire(unique())).release();
    expect(await connections()).toBe(before + 1);
  });

  it('is 0 requests for a re-entry', async () => {
    await using a = await Engine.start({ redis: server.url });
    const name = unique();
    const scope = await a.client.enter(name, lockDefaults);
    await admin.config('RESETSTAT');
    await scope.run(async () => {
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const inner = await a.client.enter(name, lockDefaults);
          await inner.run(async () => (await a.acquire(name)).release());
          await inner.leave('worked');
        }),
      );
    });
    expect(await requests(admin)).toEqual({});
    await scope.leave('worked');
  });

  it('is 1 release with 1 publish inside for a hand-off to another process, and no request of the next holder', async () => {
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const name = unique();
    const first = await a.acquire(name);
    const { lock } = await b.queue(name);
    await admin.config('RESETSTAT');
    await first.release();
    await lock;
    expect(await requests(admin)).toEqual({ evalsha: 1, publish: 1 });
  });

  it('is 1 acquire, 1 release and 1 publish for each hand-off between processes, in steady state', async () => {
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const name = unique();
    let held = await a.acquire(name);
    // Both have waited once: both are subscribed.
    for (const next of [b, a]) {
      const { lock } = await next.queue(name);
      await held.release();
      held = await lock;
    }
    await admin.config('RESETSTAT');
    const rounds = 20;
    for (let round = 0; round < rounds; round++) {
      const { lock } = await (round % 2 === 0 ? b : a).queue(name);
      await held.release();
      held = await lock;
    }
    expect(await requests(admin)).toEqual({ evalsha: 2 * rounds, publish: rounds });
    await held.release();
  });

  it.each([
    ['of an exclusive lock: what the answer says of its holder costs none', {}, {}, { exists: 1, get: 1, pttl: 1 }],
    [
      'of a shared lock: two of them look for the earliest reader (zrangebyscore, hmget)',
      { shared: true },
      {},
      { exists: 1, get: 1, zrangebyscore: 1 + 1, hget: 1, zrevrangebyscore: 1, hmget: 1 },
    ],
    [
      'of permits: two of them look for their earliest holder',
      { limit: 1 },
      { limit: 1 },
      { get: 1, zscore: 2, zrangebyscore: 3 + 1, hget: 1, hmget: 1 },
    ],
  ] as const)('is these commands inside the script for a refused try %s', async (_what, held, asked, commands) => {
    await using a = await Engine.start({ redis: server.url });
    await using b = await Engine.start({ redis: server.url });
    const name = unique();
    await using _lock = await a.acquire(name, held);
    await admin.config('RESETSTAT');
    const refused = b.acquire(name, { ...asked, wait: 0 });
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_CONTENDED', holder: { pid: process.pid } });
    expect(await executed(admin)).toEqual({ evalsha: 1, time: 1, ...commands });
  });

  it('is at most 1 request per hand-off for many callers of one process', async () => {
    await using a = await Engine.start({ redis: server.url });
    const name = unique();
    await admin.config('RESETSTAT');
    const callers = 200;
    await Promise.all(
      Array.from({ length: callers }, async () => {
        await (await a.acquire(name)).release();
      }),
    );
    const { evalsha, ...others } = await requests(admin);
    expect(others).toEqual({});
    expect(evalsha).toBeLessThanOrEqual(callers);
  });

  it('is 1 request for the renewal of 250 leases', async () => {
    const backend = new RedisBackend({ redis: server.url, log: new KeptLog() });
    await backend.start('costs', { granted: () => undefined, recovered: () => undefined });
    const root = unique();
    const holds = await Promise.all(
      Array.from({ length: 250 }, async (_, index) => {
        const request = {
          ...exclusive,
          name: `${root}:${index}`,
          id: `costs:${index}`,
          lease: 30_000,
          reserve: 0,
          enqueue: false,
          again: false,
        };
        const reply = await backend.acquire({ ...request, giveUpAt: performance.now() + 5_000, isWanted: () => true });
        if (reply.status !== 'granted') throw new Error(reply.status);
        return { ...request, fencingToken: reply.fencingToken };
      }),
    );
    await admin.config('RESETSTAT');
    const replies = await backend.renew(holds);
    expect(await requests(admin)).toEqual({ evalsha: 1 });
    expect(replies.filter((reply) => typeof reply === 'object')).toHaveLength(250);
    await backend.close();
  });

  it('is one key after 5,000 locks on 5,000 names, after any number of rounds', async () => {
    await using a = await Engine.start({ redis: server.url, keyPrefix: 'flat:' });
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 1000 }, async () => {
          await (await a.acquire(unique())).release();
        }),
      );
    }
    expect(await admin.keys('flat:*')).toEqual(['flat:token-register']);
  });
});
