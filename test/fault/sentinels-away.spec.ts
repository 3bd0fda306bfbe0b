import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort, startRedis } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { rejection, until } from './support/conditions.js';
import { expectNoLeftovers } from './support/leftovers.js';
import { Locker, uniqueName } from './support/locker.js';

describe('sentinels', () => {
  let group: SentinelGroup;

  beforeAll(async () => {
    group = await SentinelGroup.start({ replicas: 0 });
  });
  afterAll(() => group.stop());
  afterEach(() => {
    jest.restoreAllMocks();
  });
  expectNoLeftovers();

  /** Locks as soon as there is a connection; until then every call rejects as in an outage. */
  const locks = (locker: Locker): Promise<boolean> =>
    until('it locks', async () => {
      try {
        await (await locker.acquire(uniqueName(), { wait: 0 })).release();
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
        return false;
      }
    });

  it('that do not know the name of the master are reported so', async () => {
    await using locker = new Locker({ ...group.connection, name: 'other' }, { commandTimeout: 500 });
    await expect(locker.client.start()).rejects.toThrow(/No such master/);
  });

  it('of which one is silent are asked one after the other', async () => {
    const noise = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const [silent] = group.sentinels;
    silent!.pause();
    try {
      await using locker = new Locker(group.connection, { commandTimeout: 300 });
      await locker.client.start().catch((error: unknown) => expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' }));
      await locks(locker);
    } finally {
      silent!.resume();
    }
    expect(noise.mock.calls).toEqual([]);
  });

  it('that are all down at the start are an outage, which is reported in bounded time and ends by itself', async () => {
    const port = await freePort();
    await using locker = new Locker(
      { sentinels: [{ host: '127.0.0.1', port }], name: 'locks' },
      { commandTimeout: 500 },
    );
    const error = await rejection(locker.client.start());
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(error.message).toContain('Sentinel group locks');
    expect(await rejection(locker.acquire(uniqueName(), { wait: '1h' }))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    const [master] = group.servers;
    await using late = await startRedis({
      port,
      sentinel: true,
      config: `sentinel monitor locks 127.0.0.1 ${master!.port} 1`,
    });
    expect(late.isRunning).toBe(true);
    await locks(locker);
  });

  it('that stop later change nothing and are not logged while the master lives; after that locks are unavailable', async () => {
    const noise = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await using locker = await Locker.to(group.connection, { commandTimeout: 500 });
    await group.sentinels[0]!.kill();
    await (await locker.acquire('one sentinel less')).release();
    await group.sentinels[1]!.kill();
    await group.sentinels[2]!.kill();
    await (await locker.acquire('no sentinel')).release();
    await Promise.all(group.servers.map((server) => server.kill()));
    await expect(locker.acquire('unreachable', { wait: '1h' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    // Also while it looks for a master.
    await locker.client.shutdown(0);
    expect(noise.mock.calls).toEqual([]);
  });
});

describe('sentinels and a master with passwords', () => {
  const passwords = { master: 'of-the-master', sentinels: 'of-the-sentinels' };
  let group: SentinelGroup;

  beforeAll(async () => {
    group = await SentinelGroup.start({ replicas: 0, sentinels: 1, passwords });
  });
  afterAll(() => group.stop());
  expectNoLeftovers();

  it('are reached with both passwords, given as ioredis options or with a client of ioredis', async () => {
    await using byOptions = await Locker.to(group.connection);
    await using byClient = await Locker.to(new Redis({ ...group.connection, lazyConnect: true }));
    const name = uniqueName();
    const lock = await byOptions.acquire(name);
    const waiting = byClient.acquire(name, { wait: '15s' });
    await lock.release();
    await (await waiting).release();
  });

  it.each([
    ['the master', { password: 'wrong' }],
    ['the sentinels', { sentinelPassword: 'wrong' }],
  ])('refuse a wrong password of %s at start, without showing it', async (_, wrong) => {
    await using locker = new Locker({ ...group.connection, ...wrong }, { commandTimeout: 500 });
    const error = await rejection(locker.client.start());
    expect(error).toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(error.message).toContain('WRONGPASS');
    expect(error.message + locker.log.lines.join()).not.toMatch(/of-the|wrong\b/);
  });
});
