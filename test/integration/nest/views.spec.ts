import 'reflect-metadata';
import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { currentLock, DistributedLock, RedisLockModule, RedisLockService } from 'nestjs-redis-lock';
import type { LockBackend } from 'nestjs-redis-lock/backend';
import { MemoryLockBackend } from 'nestjs-redis-lock/testing';
import { KeptLogger } from '../transports/kept-logger.js';
import { closing, deferred, onSharedRedis } from './fixtures.js';

const inside = deferred();

@Injectable()
class Reports {
  @DistributedLock('report:#{0}')
  async build(_day: string): Promise<void> {
    const { signal } = currentLock()!;
    inside.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
}

const start = async (options = onSharedRedis()) =>
  closing(
    await (
      await Test.createTestingModule({ imports: [RedisLockModule.forRoot(options)], providers: [Reports] })
        .setLogger(new KeptLogger())
        .compile()
    ).init(),
  );

describe('RedisLockService for operators', () => {
  it('shows the method that holds a lock, lists it, and releases it by force: the method learns it and its call rejects', async () => {
    const options = onSharedRedis({ lease: 900 });
    await using app = await start(options);
    await using console = await start(options);
    const locks = console.get(RedisLockService);
    const call = app.get(Reports).build('monday');
    const outcome = expect(call).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
    await inside.promise;

    const { holders } = await locks.inspect('report:monday');
    expect(holders).toEqual([
      {
        client: expect.stringMatching(/^.{5}$/),
        host: hostname(),
        pid: process.pid,
        method: 'Reports.build',
        fencingToken: expect.any(Number),
        heldFor: expect.any(Number),
        leaseLeft: expect.any(Number),
        state: 'held',
        permits: 1,
      },
    ]);
    const listed: string[] = [];
    for await (const name of locks.list()) listed.push(name);
    expect(listed).toEqual(['report:monday']);

    expect(await locks.forceRelease('report:monday')).toBe(true);
    await outcome;
    expect(await locks.forceRelease('report:monday')).toBe(false);
  });

  it('refuses wrong names and options at once, with the call at the start of the message', async () => {
    await using app = await start();
    const locks = app.get(RedisLockService);
    for (const call of ['inspect', 'forceRelease'] as const) {
      for (const key of [undefined, '', 7, ['a'], 'x'.repeat(1025)])
        await expect(locks[call](key as string)).rejects.toMatchObject({
          code: 'LOCK_CONFIGURATION',
          message: expect.stringMatching(new RegExp(`^RedisLockService\\.${call}: key: `)),
        });
    }
    for (const [options, problem] of [
      [null, 'options: '],
      ['why', 'options: '],
      [{ token: 1 }, "options: there is no option 'token'"],
      [{ fencingToken: 0 }, 'fencingToken: '],
      [{ fencingToken: 1.5 }, 'fencingToken: '],
      [{ fencingToken: '1' }, 'fencingToken: '],
      [{ reason: '' }, 'reason: '],
      [{ reason: 'x'.repeat(201) }, 'reason: '],
      [{ actor: 7 }, 'actor: '],
    ] as const)
      await expect(locks.forceRelease('a', options as object)).rejects.toMatchObject({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining(`RedisLockService.forceRelease: ${problem}`),
      });
    for (const options of [null, 7, { startWith: 'a' }, { startsWith: 7 }])
      expect(() => locks.list(options as object)).toThrow(
        expect.objectContaining({
          code: 'LOCK_CONFIGURATION',
          message: expect.stringMatching(/^RedisLockService\.list: /),
        }),
      );
  });

  it('rejects if the backend does not support it', async () => {
    const memory = new MemoryLockBackend();
    const least = Object.create(memory, {
      inspect: { value: undefined },
      list: { value: undefined },
    }) as LockBackend;
    await using app = await start({ backend: least });
    const locks = app.get(RedisLockService);
    await expect(locks.inspect('a')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    await expect(locks.forceRelease('a')).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    expect(() => locks.list()).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
  });
});
