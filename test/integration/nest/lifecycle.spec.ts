import 'reflect-metadata';
import { describe, expect, it, jest } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DistributedLock, RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { freePort, startRedis } from '../../support/redis-server.js';
import { closing, deferred, onSharedRedis } from './fixtures.js';

const compile = async (options: RedisLockModuleOptions, providers: object[] = []) =>
  closing(
    await Test.createTestingModule({
      imports: [RedisLockModule.forRoot(options)],
      providers: providers as never,
    }).compile(),
  );
const start = async (options: RedisLockModuleOptions, providers?: object[]) =>
  closing(await (await compile(options, providers)).init());

/** Sockets of this process to servers. */
const sockets = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;

describe('starting', () => {
  it('starts when Redis is unavailable, logs that once, rejects with LOCK_UNAVAILABLE, and works as soon as Redis runs', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    try {
      const port = await freePort();
      await using app = await start({ redis: `redis://127.0.0.1:${port}` });
      const locks = app.get(RedisLockService);
      await expect(locks.acquire('a', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      const said = errors.mock.calls
        .map(([message]) => String(message))
        .filter((message) => message.includes('cannot be reached'));
      expect(said).toEqual([expect.stringContaining(`127.0.0.1:${port}`)]);
      await using _redis = await startRedis({ port });
      await using lock = await locks.acquire('a', { wait: '15s' });
      expect(lock.isHeld).toBe(true);
    } finally {
      errors.mockRestore();
    }
  });

  it('does not start with strict when Redis is unavailable, and leaves no socket', async () => {
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    try {
      const before = sockets();
      const app = await compile({ redis: `redis://127.0.0.1:${await freePort()}`, strict: true });
      await expect(app.init()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      expect(sockets()).toBe(before);
    } finally {
      errors.mockRestore();
    }
  });

  it('opens no connection for a module that is only compiled, nor when that is closed', async () => {
    const before = sockets();
    const app = await compile(onSharedRedis());
    expect(sockets()).toBe(before);
    await app.close();
    expect(sockets()).toBe(before);
  });
});

describe('closing', () => {
  @Injectable()
  class Worker {
    readonly inside = deferred();
    readonly leave = deferred();
    @DistributedLock('work')
    async work() {
      this.inside.resolve();
      await this.leave.promise;
      return 'done';
    }
    @DistributedLock('work')
    async again() {}
  }

  it('rejects waiters at once, lets running work end, and only then closes the connections', async () => {
    const options = onSharedRedis();
    await using other = await start(options);
    const app = await start(options, [Worker]);
    const worker = app.get(Worker);
    const running = worker.work();
    await worker.inside.promise;
    const waiting = worker.again();
    const closed = app.close();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(worker.again()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await expect(other.get(RedisLockService).tryAcquire('work')).resolves.toBeNull();
    worker.leave.resolve();
    await expect(running).resolves.toBe('done');
    await closed;
    await using lock = await other.get(RedisLockService).tryAcquire('work');
    expect(lock).not.toBeNull();
  });

  it("rejects waiters before other modules' hooks wait for them", async () => {
    let waiting: Promise<unknown> = Promise.resolve();
    class Queue {
      // Like a queue worker, which closes when its jobs have ended.
      async beforeApplicationShutdown() {
        await waiting.catch(() => {});
      }
    }
    const app = await start(onSharedRedis({ shutdownTimeout: 0 }), [Queue]);
    const locks = app.get(RedisLockService);
    await using _lock = await locks.acquire('a');
    waiting = locks.acquire('a', { wait: Infinity });
    const closed = app.close();
    await expect(waiting).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await closed;
  });

  it('releases the locks of work that lasts longer than shutdownTimeout', async () => {
    const options = onSharedRedis({ shutdownTimeout: 0 });
    await using other = await start(options);
    const app = await start(options);
    const lock = await app.get(RedisLockService).acquire('work');
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => {});
    await app.close();
    errors.mockRestore();
    expect([lock.isHeld, lock.signal.aborted]).toEqual([false, true]);
    await using free = await other.get(RedisLockService).tryAcquire('work');
    expect(free).not.toBeNull();
  });

  it('closes every socket, and never the client that the user gave', async () => {
    const before = sockets();
    const { redis, ...rest } = onSharedRedis();
    const client = new Redis(redis as string);
    await client.ping();
    const mine = sockets();
    const app = await start({ ...rest, redis: client });
    const locks = app.get(RedisLockService);
    await locks.using('a', async () => expect(sockets()).toBeGreaterThan(mine));
    await app.close();
    expect(sockets()).toBe(mine);
    await expect(client.ping()).resolves.toBe('PONG');
    client.disconnect();
    expect(before).toBeLessThan(mine);
  });

  it('rejects locks after it was closed', async () => {
    const app = await start(onSharedRedis());
    const locks = app.get(RedisLockService);
    await app.close();
    await expect(locks.acquire('a')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});
