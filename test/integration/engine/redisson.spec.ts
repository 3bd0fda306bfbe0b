import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { ownChannelOf, redissonScripts as scripts, withPoll } from '../../support/backends.js';
import { KeptLog } from '../../../conformance/kept-log.js';
import { sharedRedisUrl, startRedis } from '../../support/redis-server.js';
import {
  channelOf,
  java,
  listeningBackend,
  newRedissonBackend,
  request,
  unique,
} from '../../support/redisson-backends.js';

let redis: Redis;
let listener: Redis;
beforeAll(() => void ([redis, listener] = [new Redis(sharedRedisUrl()), new Redis(sharedRedisUrl())]));
afterAll(() => Promise.all([redis.quit(), listener.quit()]));

async function newClient(): Promise<RedisLockClient & AsyncDisposable> {
  const client = createLockClient(withPoll(600_000, { redis: sharedRedisUrl(), redisson: true, log: new KeptLog() }));
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

describe('what others left on the key of a lock', () => {
  it('a holder with a lease of 2,147,483,647 days keeps the lock, and no other lock takes notice', async () => {
    await using client = await newClient();
    const name = unique();
    await redis.multi().hset(name, java, 1).pexpire(name, '185542587187200000').exec();
    const refusal = await client.acquire(name, { wait: 0 }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'LOCK_CONTENDED', holder: { client: java, fencingToken: undefined } });
    await (await client.acquire(unique(), { wait: 0 })).release();
    expect(await client.forceRelease(name)).toBe(true);
  });

  it('a holder without an expiry keeps the lock, its lease is said never to end, and a forced release takes it', async () => {
    await using client = await newClient();
    const name = unique();
    await redis.hset(name, java, 1);
    for (const [wait, code] of [
      [0, 'LOCK_CONTENDED'],
      [150, 'LOCK_WAIT_TIMEOUT'],
    ] as const)
      await expect(client.acquire(name, { wait })).rejects.toMatchObject({
        code,
        message: expect.stringContaining(`held by client ${java}, whose lease never ends`),
        leaseLeft: Number.POSITIVE_INFINITY,
      });
    expect((await client.inspect(name)).holders).toMatchObject([{ client: java, leaseLeft: Infinity }]);
    expect(await client.forceRelease(name, { client: java })).toBe(true);
    await (await client.acquire(name, { wait: 0 })).release();
  });

  it('a mode without a holder keeps the lock, and a forced release takes it', async () => {
    await using client = await newClient();
    const name = unique();
    await redis.hset(name, 'mode', 'read');
    await expect(client.acquire(name, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_KIND_MISMATCH' });
    const [holder] = (await client.inspect(name)).holders;
    expect(await client.forceRelease(name, { client: holder!.client })).toBe(true);
    await (await client.acquire(name, { wait: 0 })).release();
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ['a hash of an application', (name) => redis.hset(name, { name: 'a book', price: '12' })],
    ['its only field', (name) => redis.hset(name, 'items', '3')],
    ['its field `mode`', (name) => redis.hset(name, 'mode', 'dark')],
    ['its fields `mode` and another', (name) => redis.hset(name, { mode: 'read', name: 'a book' })],
    ['its UUIDs', (name) => redis.hset(name, randomUUID(), '1')],
    ['its UUIDs with a word', (name) => redis.hset(name, `${randomUUID()}:count`, '1')],
    ['its e-mail addresses', (name) => redis.hset(name, 'ann@12', '1')],
    ['a field that is no text', (name) => redis.hset(name, Buffer.from([0xff, 0x00, 0x20]), '1')],
    ['a field with a line break', (name) => redis.hset(name, `${java}\n`, '1')],
    ['a number of 20 digits', (name) => redis.hset(name, 'a:1@99999999999999999999', '1')],
    ['a field beside those of a lock', (name) => redis.hset(name, { [java]: '1', name: 'a book' })],
    [
      'more fields than a lock can have',
      (name) =>
        redis.hset(name, Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`${java}${index}`, 1]))),
    ],
    ['a text', (name) => redis.set(name, 'a book')],
    ['a list', (name) => redis.rpush(name, 'a book')],
  ])('a key that is not a lock, %s, is refused, and no call changes it', async (_, put) => {
    await using client = await newClient();
    const name = unique();
    await put(name);
    const before = await redis.dumpBuffer(name);
    const refused = {
      code: 'LOCK_CONFIGURATION',
      message: expect.stringMatching(/a value that is not a lock.* left as it is/),
    };
    await expect(client.acquire(name)).rejects.toMatchObject(refused);
    await expect(client.acquire(name, { wait: 0 })).rejects.toMatchObject(refused);
    await expect(client.inspect(name)).rejects.toMatchObject(refused);
    await expect(client.forceRelease(name)).rejects.toMatchObject(refused);
    expect(await redis.dumpBuffer(name)).toEqual(before);
    expect(await redis.pttl(name)).toBe(-1);
    await redis.del(name);
  });
});

it('a user that may not ask who listens gets no lock, and leaves none behind', async () => {
  const [user, name, url] = [`user-${randomUUID()}`, unique(), new URL(sharedRedisUrl())];
  await redis.acl('SETUSER', user, 'on', '>secret', '~*', '&*', '+@all', '-pubsub');
  [url.username, url.password] = [user, 'secret'];
  const client = createLockClient({ redis: url.href, redisson: true, log: new KeptLog() });
  await expect(client.connect()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  await expect(client.acquire(name)).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  expect(await redis.exists(name)).toBe(0);
  await client.close();
  await redis.acl('DELUSER', user);
});

it('a Redis that has renamed a command grants no lock, and none is left behind', async () => {
  await using server = await startRedis({ args: ['--rename-command', 'PEXPIRE', 'ANOTHER'] });
  const client = createLockClient({ redis: server.url, redisson: true, log: new KeptLog() });
  await expect(client.acquire('product:42')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  const admin = new Redis(server.url);
  expect(await admin.exists('product:42')).toBe(0);
  await Promise.all([client.close(), admin.quit()]);
});

describe('callers with strict fairness', () => {
  it('have the lock in the order in which they came', async () => {
    await using client = await newClient();
    await using other = await newClient();
    const name = unique();
    const first = await other.acquire(name);
    const order: number[] = [];
    const callers = Array.from({ length: 200 }, async (_, index) => {
      const lock = await client.acquire(name, { wait: '1m', fairness: 'strict' });
      order.push(index);
      await lock.release();
    });
    while ((await redis.pubsub('NUMSUB', channelOf(name)))[1] !== 1);
    await first.release();
    await Promise.all(callers);
    expect(order).toEqual(callers.map((_, index) => index));
  });

  it.each([
    ['strict', 'handoff'],
    ['handoff', 'strict'],
  ] as const)('have a grant of their own: a lock goes from %s to %s through Redis', async (before, after) => {
    await using client = await newClient();
    const name = unique();
    const lock = await client.acquire(name, { fairness: before });
    const holder = await redis.hkeys(name);
    // The second one behind it has tokens for a hand-off.
    const waiting = [before, after].map((fairness) => client.acquire(name, { wait: '1m', fairness }));
    await lock.release();
    const second = await waiting[0]!;
    const holders = [holder, await redis.hkeys(name)];
    await second.release();
    const third = await waiting[1]!;
    holders.push(await redis.hkeys(name));
    await third.release();
    expect(holders[2]).not.toEqual(holders[1]);
  });
});

it('a process without waiters is no listener any more after a while, on neither channel', async () => {
  const { backend: made, heard } = await listeningBackend();
  await using backend = made;
  const name = unique();
  await redis.multi().hset(name, java, 1).pexpire(name, 60_000).exec();
  const claim = request(name);
  await backend.acquire(claim);
  await heard;
  const channels = [channelOf(name), ownChannelOf(channelOf(name))];
  const listeners = (): Promise<unknown[]> => redis.pubsub('NUMSUB', ...channels);
  expect(await listeners()).toEqual([channels[0], 1, channels[1], 1]);
  await backend.release(claim);
  while ((await listeners()).includes(1)) await redis.ping();
});

describe('a request of a waiter', () => {
  it('is repeated soon while its own client hears nothing, no matter who else does, and after `poll` when it does', async () => {
    const { backend: made, heard } = await listeningBackend();
    await using backend = made;
    const name = unique();
    await listener.subscribe(channelOf(name));
    await redis.multi().hset(name, java, 1).pexpire(name, 3_600_000).exec();
    const claim = request(name);
    const deaf = await backend.acquire(claim);
    expect((deaf as { askAt: number }).askAt).toBeLessThanOrEqual(performance.now() + backend.claimWindow / 3);
    await heard;
    const later = await backend.acquire({ ...claim, again: true });
    expect((later as { askAt: number }).askAt).toBeGreaterThan(performance.now() + backend.claimWindow / 3);
    await backend.release(claim);
    await redis.del(name);
  });

  it('is repeated soon, too, when the server does not know of the subscription that its client believes in', async () => {
    const name = unique();
    await redis.multi().hset(name, java, 1).pexpire(name, 60_000).exec();
    const keys = ['nestjs-redis-lock:token-register', name, `redisson_lock_timeout:{${name}}`];
    const terms = 'PUBLISH redisson_lock__channel: own 1';
    const claim = [Number.MAX_SAFE_INTEGER, terms, 0, 'a:1', '60000 0 1000'];
    const [, reply] = (await redis.eval(scripts.acquire.source, keys.length, ...keys, ...claim)) as [number, string];
    expect(reply).toMatch(/^queued \d+ polling /);
  });

  it('does not take the subscription of its own client for another waiter, nor that of another lock for its own', async () => {
    const { backend: made, heard } = await listeningBackend();
    await using backend = made;
    const [alone, shared] = [unique(), unique()];
    await redis.multi().hset(alone, java, 1).pexpire(alone, 3_600_000).exec();
    await listener.subscribe(channelOf(shared));
    const claim = request(alone);
    await backend.acquire(claim);
    await heard;
    await redis.del(alone);
    const replies = await Promise.all([
      backend.acquire(request(shared)),
      backend.acquire({ ...claim, again: true }),
      backend.acquire(request(unique())),
    ]);
    expect(replies).toMatchObject([{ othersWait: true }, { othersWait: false }, { othersWait: false }]);
  });

  it('that is repeated tells the rest of the lease, and not a whole one', async () => {
    await using backend = await newRedissonBackend();
    const claim = request(unique(), { lease: 50_000 });
    await backend.acquire(claim);
    const [again, answered] = [await backend.acquire({ ...claim, lease: 3_600_000 }), performance.now()];
    expect((again as { validUntil: number }).validUntil).toBeLessThan(answered + 50_000);
    await backend.release(claim);
  });
});
