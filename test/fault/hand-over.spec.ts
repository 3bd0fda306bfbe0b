import { describe, expect, it } from '@jest/globals';
import { readTicket, resolveAdoption } from 'nestjs-redis-lock/backend';
import type { RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from './support/conditions.js';
import { LockProcess } from './support/lock-process.js';
import { Locker, uniqueName } from './support/locker.js';
import { oneRedis } from './support/one-redis.js';
import type { ServerView } from './support/server-view.js';

const WAIT = { wait: '15s' } as const;

describe('a hand-over when processes die and replies are lost', () => {
  let redis: RedisServer;
  let view: ServerView;
  oneRedis((started) => ({ redis, view } = started));

  const adopt = ({ client }: Locker, ticket: string, options = {}) =>
    client.adopt(readTicket(ticket), resolveAdoption(options, client.defaults));

  it('succeeds when the exporting process is killed at once, and no waiter gets the lock in between', async () => {
    const name = uniqueName();
    await using exporter = await LockProcess.start({ redis: redis.url });
    await using adopter = await Locker.to(redis.url);
    await using waiter = await Locker.to(redis.url);
    const { token } = await exporter.acquire('lock', name);
    const next = waiter.acquire(name, WAIT);
    await view.queued(name, 1);
    const ticket = await exporter.export('lock');
    await exporter.kill();
    const lock = await adopt(adopter, ticket, { lease: 1000, renew: true });
    expect(lock.fencingToken).toBe(token);
    const first = (await view.holder(name))!;
    await until('a renewal by the adopter', async () => (await view.holder(name))!.expiry > first.expiry);
    expect(await view.holder(name)).toMatchObject({ token, claim: first.claim });
    await lock.release();
    expect((await next).fencingToken).toBeGreaterThan(token);
    await (await next).release();
  });

  it('frees the lock of a killed adopter when its lease is over, even if the ticket was valid for longer', async () => {
    const name = uniqueName();
    await using exporter = await Locker.to(redis.url);
    await using adopter = await LockProcess.start({ redis: redis.url });
    const lock = await exporter.acquire(name);
    const ticket = await lock.export('10m');
    await adopter.adopt('lock', ticket, { lease: 1000, renew: true });
    await adopter.kill();
    const { expiry } = (await view.holder(name))!;
    expect(expiry).toBeLessThan(Date.now() + 2000);
    const next = await exporter.acquire(name, WAIT);
    expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    await next.release();
  });

  it('lets only one of two processes with the same ticket adopt the lock', async () => {
    const name = uniqueName();
    await using exporter = await Locker.to(redis.url);
    const adopters = await Promise.all([1, 2].map(() => LockProcess.start({ redis: redis.url })));
    await using one = adopters[0]!;
    await using other = adopters[1]!;
    for (let round = 0; round < 5; round++) {
      const lock = await exporter.acquire(name, WAIT);
      const ticket = await lock.export();
      const tries = await Promise.allSettled([one, other].map((adopter) => adopter.adopt('lock', ticket)));
      const failures = tries.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      expect(failures).toEqual([expect.objectContaining({ code: 'LOCK_LOST', reason: 'adopted' })]);
      await (tries[0]!.status === 'fulfilled' ? one : other).release('lock');
    }
    for (const adopter of [one, other]) expect(await adopter.end()).toEqual({ code: 0, unhandled: [] });
  });

  it('repeats the adoption when its reply is lost, with the same claim and token', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using exporter = await Locker.to(redis.url);
    await using adopter = await Locker.to(proxy.url, { commandTimeout: 300 });
    const lock = await exporter.acquire(name);
    const before = (await view.holder(name))!;
    const ticket = await lock.export();
    proxy.dropReplies();
    const adopting = adopt(adopter, ticket);
    const adopted = await until('it is moved at the server', async () => {
      const holder = (await view.holder(name))!;
      return holder.claim === before.claim ? undefined : holder;
    });
    await proxy.heal();
    proxy.reset();
    const there = await adopting;
    expect(there.fencingToken).toBe(lock.fencingToken);
    expect(await view.holder(name)).toMatchObject({ claim: adopted.claim, token: lock.fencingToken });
    await there.release();
    expect(await view.holder(name)).toBeUndefined();
  });

  it('releases an adoption whose reply never arrived: the lock is free', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using exporter = await Locker.to(redis.url);
    await using adopter = await Locker.to(proxy.url, { commandTimeout: 300 });
    const lock = await exporter.acquire(name);
    const before = (await view.holder(name))!;
    const ticket = await lock.export();
    proxy.dropReplies();
    const adopting = adopt(adopter, ticket, { wait: 0 }).catch((error: unknown) => error);
    await until('it is moved at the server', async () => (await view.holder(name))!.claim !== before.claim);
    expect(await adopting).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
    await proxy.heal();
    proxy.reset();
    await until('it is given back', async () => (await view.holder(name)) === undefined);
  });

  it('changes nothing when the adoption arrives after its sender gave up', async () => {
    const name = uniqueName();
    await using proxy = await TcpProxy.to(redis.port);
    await using exporter = await Locker.to(redis.url);
    await using other = await Locker.to(redis.url);
    await using adopter = await Locker.to(proxy.url, { commandTimeout: 300 });
    const lock = await exporter.acquire(name);
    const { claim } = (await view.holder(name))!;
    const ticket = await lock.export();
    const calls = await view.calls('evalsha');
    proxy.delay(900);
    await expect(adopt(adopter, ticket, { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    proxy.hangUp();
    await until('the late command has run', async () => (await view.calls('evalsha')) > calls);
    expect(await view.holder(name)).toMatchObject({ claim });
    await proxy.heal();
    // So the ticket is still valid.
    await (await adopt(other, ticket)).release();
  });
});
